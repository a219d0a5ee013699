/** @module Runs that an entrance recorded, without code in the agent: their badge, and what it proves. */
import { Badge } from './data.tsx'

interface Named {
  readonly name: string
  readonly tags: readonly string[]
}

/** `proxied`: calls passed through us; `gated`: the agent asked us before each call, and made it itself. */
export type Capture = 'proxied' | 'gated'

/** Entrances give a run of their own their name and, as its first tag, the same name. */
const ENTRANCES: Readonly<Record<string, Capture>> = { mcp: 'proxied', gateway: 'proxied', hook: 'gated' }

const MEANING: Readonly<Record<Capture, string>> = {
  proxied:
    'recorded by the MCP proxy or the model gateway: each call was recorded before it was forwarded, and its answer before it was returned. Calls that went another way are not here.',
  gated:
    'recorded by the hook of a coding agent: the agent asked before each call and then made it itself. A hook that is missing or was killed means yes, so calls may be missing.',
}

export function captureOf({ name, tags }: Named): Capture | undefined {
  return tags[0] === name && Object.hasOwn(ENTRANCES, name) ? ENTRANCES[name] : undefined
}

export function CaptureBadge({ run }: { readonly run: Named }) {
  const capture = captureOf(run)
  return capture === undefined ? null : (
    <>
      {' '}
      <Badge kind="captured" text={capture} />
    </>
  )
}

/** Says what the badges of these runs prove; nothing if there are none. */
export function CaptureLegend({ runs }: { readonly runs: readonly Named[] }) {
  const found = new Set(runs.map(captureOf))
  const shown = (['proxied', 'gated'] as const).filter((capture) => found.has(capture))
  if (shown.length === 0) return null
  return (
    <section class="muted" aria-label="What these badges prove">
      {shown.map((capture) => (
        <p>
          <Badge kind="captured" text={capture} /> {MEANING[capture]}
        </p>
      ))}
      <p>That a run has such a badge is the word of the token that started it.</p>
    </section>
  )
}
