/**
 * @module Delays requests that the code makes while it reads a result in parts until that result is recorded, so that a resume shows it the same parts
 * (RUN-186).
 */
import { isCovered } from '../saga/outcome.ts'

interface Place {
  readonly ancestors: readonly { readonly callId: string }[]
  readonly scope?: string | undefined
}

interface OpenParts {
  readonly place: Place
  readonly tool: string
  /** Never rejects. */
  readonly settled: Promise<void>
}

const WARN_MS = 5_000

export class PartsFirst {
  readonly #open = new Set<OpenParts>()

  /** The code at this place reads the parts of a call, which ends when `call` settles. */
  opened(place: Place, tool: string, call: Promise<unknown>): void {
    const over = (): void => void this.#open.delete(parts)
    const parts = { place, tool, settled: call.then(over, over) }
    this.#open.add(parts)
  }

  /** Resolves once every result that the code reads in parts at this place, or in a scope below, is recorded. Code inside another call is at another place. */
  async recorded(place: Place, request: string): Promise<void> {
    for (;;) {
      const open = [...this.#open].filter((parts) => isAtOrBelow(place, parts.place))
      if (open.length === 0) return
      const warning = setTimeout(() => warn(request, open), WARN_MS).unref()
      await Promise.all(open.map(({ settled }) => settled)).finally(() => clearTimeout(warning))
    }
  }
}

function isAtOrBelow({ ancestors, scope }: Place, inner: Place): boolean {
  return inner.ancestors.at(-1)?.callId === ancestors.at(-1)?.callId && isCovered(scope, inner.scope)
}

function warn(request: string, open: readonly OpenParts[]): void {
  const tools = [...new Set(open.map(({ tool }) => tool))].join(', ')
  process.emitWarning(
    `${request} waits for the end of what ${tools} gives in parts: what the code requests while it reads waits until the parts are recorded. Of a source that never ends, take what is needed inside of a tool.`,
    { code: 'COUNTERSIGN_PARTS_FIRST' },
  )
}
