/** @module Programs over the rest of the public surface: tools with options, waits, approvals, values, contexts, sagas, forks, runs within runs, agents. What each sees is logged. */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { AgentError } from '../../src/agent/errors.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { NO_WAIT } from '../agent/homes.ts'
import { CALLS } from './twin-calls.ts'
import { GROUPS } from './twin-groups.ts'
import { HABITS } from './twin-habits.ts'
import type { Does, Outside, Part, PartOf, Tool } from './twin-part.ts'
import { LOSSY, NotFound, normal, type Observed, seen, shown } from './twin-programs.ts'

const KINDS: Readonly<Record<string, PartOf>> = { ...CALLS, ...GROUPS, ...HABITS }

export interface Surface {
  readonly does: readonly Does[]
  readonly end: 'returns' | 'throws'
}

const BESIDE_THE_EVENT = 70_000
const BEYOND_AN_EVENT = 600_000

const ONE: fc.Arbitrary<Does> = fc.record({
  kind: fc.constantFrom(...Object.keys(KINDS)),
  which: fc.nat(11),
  gives: LOSSY,
  chars: fc.oneof(
    { weight: 20, arbitrary: fc.constant(10) },
    { weight: 2, arbitrary: fc.constant(BESIDE_THE_EVENT) },
    { weight: 1, arbitrary: fc.constant(BEYOND_AN_EVENT) },
  ),
})

export const SURFACE: fc.Arbitrary<Surface> = fc.record({
  does: fc.array(ONE, { minLength: 1, maxLength: 4 }),
  end: fc.oneof(
    { weight: 4, arbitrary: fc.constant('returns' as const) },
    { weight: 1, arbitrary: fc.constant('throws' as const) },
  ),
})

/** Large texts are told by their digest. */
const told = (value: unknown): string =>
  (typeof value === 'string' ? value : shown(value)).replaceAll(
    /x{1000,}/g,
    (text) => `${text.length} ${createHash('sha256').update(text).digest('base64').slice(0, 8)}`,
  )

/** The program's code, over its own tools, in one life. */
export function observedSurface(cs: Countersign<unknown>, { does, end }: Surface, world: Outside): Observed {
  const log: string[] = []
  const see = (what: string, value: unknown): void => void log.push(`${what} ${told(value)}`)
  const parts = does.map((each, i) => {
    const tool: Part['tool'] = (name, fn, options = {}) =>
      cs.tool(fn, {
        onUnknown: 'retry',
        backoff: NO_WAIT,
        compensate: 'not-needed',
        errors: [NotFound],
        name: `${name}${i}`,
        ...options,
      } as never) as unknown as Tool
    const text = (what: string): string => `${what}${'x'.repeat(each.chars)}`
    return (KINDS[each.kind] as PartOf)({ ...each, cs, i, world, see, tool, text })
  })
  const tell = cs.tool((_: string) => world.act(), {
    name: 'tell',
    onUnknown: 'retry',
    dedupe: 'position',
    compensate: () => world.undo(),
  })
  const body = async (run: Run<unknown>): Promise<unknown> => {
    see('input', run.input)
    for (const [i, part] of parts.entries()) {
      try {
        await part(run)
      } catch (error) {
        if (error instanceof AgentError && error.code.endsWith('-diverged')) throw error
        see(`${does[i]?.kind} caught`, seen(error))
      }
      // What was seen goes on into the next call, as a message of a model's conversation does.
      await tell(normal(log.at(-1) ?? ''))
    }
    see('end', end)
    if (end === 'throws') throw new NotFound('the end')
    return log.length
  }
  return { log, inside: new Map(), body }
}
