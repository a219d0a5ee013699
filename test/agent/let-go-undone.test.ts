/** What code let go of and has something to undo does not keep a resumed run from its end either. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { HOMES, LONG_MS } from './homes.ts'

const hangs = (): Promise<never> => new Promise(() => {})
const KINDS = ['call', 'child', 'saga', 'child undone'] as const
type Kind = (typeof KINDS)[number]
type Place = 'branch' | 'call' | 'step'

interface World {
  /** What is done and not undone. */
  readonly done: Set<string>
  /** The process hangs in the last request. */
  readonly isDying: boolean
}

/** Code that goes on without what it asked for: in a branch that is merged, a call, a step. */
function letsGo(cs: Countersign, { done, isDying }: World, { kind, place }: { kind: Kind; place: Place }) {
  const hung = Promise.withResolvers<void>()
  const hangs = isDying
    ? (): Promise<never> => {
        hung.resolve()
        return new Promise(() => {})
      }
    : undefined
  const safe = { onUnknown: 'retry', compensate: 'not-needed' } as const
  const slow = cs.tool({
    name: 'slow',
    onUnknown: 'retry',
    execute: (_: string, { idempotencyKey }: { idempotencyKey: string }) => {
      done.add(idempotencyKey)
      return hangs !== undefined && (kind === 'call' || kind === 'child') ? hangs() : idempotencyKey
    },
    compensate: {
      onUnknown: 'retry',
      run: ({ result }: { result: unknown }) => {
        if (hangs !== undefined) return hangs()
        done.delete(String(result))
      },
    },
  } as never) as unknown as (what: string) => Promise<string>
  const fast = cs.tool(async () => 'fast', { name: 'fast', ...safe })
  const fail = cs.tool({ name: 'fail', effects: 'none', execute: () => Promise.reject(new Error('no')) })
  const going = (run: Run<unknown>): Promise<unknown> => {
    if (kind === 'call') return slow('a')
    if (kind === 'child') return cs.run({ name: 'child' }, async () => [await fast(), await slow('a')])
    if (kind === 'child undone')
      return cs.run({ name: 'child' }, async () => {
        await slow('a')
        throw new Error('undone')
      })
    return run.saga([{ tool: slow as never, args: 'a' as never }, { tool: fail }])
  }
  const race = async (run: Run<unknown>) => {
    going(run).catch(() => undefined)
    await hung.promise
    return fast()
  }
  const tell = cs.tool(async () => 1, { name: 'tell', ...safe })
  return async (run: Run<null>): Promise<string> => {
    const outer = cs.tool(() => race(run), { name: 'outer', ...safe })
    if (place === 'branch')
      await run.fork([{ agent: 'a', run: async (_, at) => ({ k: await race(at.run) }) }], { join: 'union' })
    else if (place === 'call') await outer()
    else await run.step('a', async () => ({ k: await race(run) }))
    await tell()
    return 'end'
  }
}

for (const { name, open } of HOMES) {
  const letGo = suite(`let go, to be undone ${name}`)

  // The signal of a branch that has ended ends a run within it, which may have its end before the process dies.
  for (const place of ['branch', 'call', 'step'] as const)
    for (const kind of KINDS.filter((each) => place !== 'branch' || each !== 'child'))
      letGo(`A550 a ${kind} that a ${place} let go of ends with the run that is resumed (RUN-263)`, async () => {
        await using home = await open()
        const done = new Set<string>()
        let isDead = false
        const dying = home.process((connection) => ({
          ...connection,
          execute: (...asked) => (isDead ? hangs() : connection.execute(...asked)),
        }))
        const hung = Promise.withResolvers<void>()
        const body = letsGo(dying, { done, isDying: true }, { kind, place })
        dying
          .run({ id: 'x', name: 'x', input: null }, async (run) => {
            await body(run)
            hung.resolve()
            return hangs()
          })
          .catch(hung.reject)
        await hung.promise
        isDead = true
        home.clock.nowMs += LONG_MS
        const next = home.process()
        assert.is(
          await next.run({ id: 'x', name: 'x', input: null }, letsGo(next, { done, isDying: false }, { kind, place })),
          'end',
        )
        assert.is(done.size, kind === 'call' ? 1 : 0, 'a call is made, all else is undone')
        const again = home.process()
        const { output } = await again.replay('x', letsGo(again, { done, isDying: false }, { kind, place }))
        assert.is(output, 'end')
      })

  letGo.run()
}
