/** Programs in which several requests are under way at once: what they do next depends on which came first. */
import fc from 'fast-check'
import { currentCall } from '../../src/agent/runtime/execution-context.ts'
import type { Run } from '../../src/agent/runtime/run.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { NO_WAIT } from '../agent/homes.ts'
import { NotFound, normal, seen, shown } from './twin-programs.ts'

const PATTERNS = [
  'all',
  'pool',
  'race',
  'any',
  'stop',
  'counter',
  'sleep',
  'waits',
  'again',
  'kinds',
  'letGo',
  'unwound',
  'checked',
] as const

export interface Together {
  readonly pattern: (typeof PATTERNS)[number]
  /** How long each call takes, in milliseconds, and whether it fails. */
  readonly calls: readonly { readonly takesMs: number; readonly fails: boolean }[]
}

const CALL = fc.record({ takesMs: fc.constantFrom(0, 0, 1, 4, 9), fails: fc.nat(4).map((n) => n === 0) })

export const TOGETHER: fc.Arbitrary<readonly Together[]> = fc.array(
  fc.record({ pattern: fc.constantFrom(...PATTERNS), calls: fc.array(CALL, { minLength: 3, maxLength: 5 }) }),
  { minLength: 1, maxLength: 2 },
)

interface Tools {
  readonly work: (n: number) => Promise<{ readonly n: number }>
  readonly next: (what: string) => Promise<string>
  readonly same: (n: number) => Promise<number>
  /** Like `work`, with something to undo. */
  readonly keep: (n: number) => Promise<{ readonly n: number }>
}

interface Part extends Tools {
  readonly run: Run<unknown>
  readonly cs: Countersign<unknown>
  readonly i: number
  readonly numbers: readonly number[]
  readonly see: (text: string) => void
}

/** What came of it, as text, and seen in that moment. */
async function noted({ see }: Part, what: string, promise: Promise<unknown>): Promise<string> {
  const text = await promise.then(
    (value) => `${what} ${JSON.stringify(value)}`,
    (error: unknown) => `${what} failed ${error instanceof AggregateError ? 'all' : seen(error)}`,
  )
  see(text)
  return text
}

const DOES: Readonly<Record<Together['pattern'], (part: Part) => Promise<unknown>>> = {
  all: (part) => Promise.all(part.numbers.map((n) => noted(part, `all ${n}`, part.work(n)))),
  pool: async (part) => {
    const queue = [...part.numbers]
    const worker = async (w: number): Promise<void> => {
      for (let n = queue.shift(); n !== undefined; n = queue.shift()) {
        await noted(part, `worker ${w}`, part.work(n))
        await noted(part, `worker ${w} then`, part.next(`${w} had ${n}`))
      }
    }
    await Promise.all([worker(1), worker(2)])
  },
  race: async (part) => part.next(await noted(part, 'race', Promise.race(part.numbers.map((n) => part.work(n))))),
  any: async (part) => part.next(await noted(part, 'any', Promise.any(part.numbers.map((n) => part.work(n))))),
  stop: async (part) => {
    const came: string[] = []
    await new Promise<void>((resolve) => {
      for (const n of part.numbers)
        void noted(part, `stop ${n}`, part.work(n)).then((text) => {
          if (came.push(text) === 2) resolve()
        })
    })
    await part.next(came.join(', '))
  },
  counter: async (part) => {
    let count = 0
    await Promise.all(
      part.numbers.map(async (n) => {
        await noted(part, `count ${n}`, part.work(n))
        count += 1
        await noted(part, 'counted', part.next(`${n} is number ${count}`))
      }),
    )
  },
  sleep: async (part) => {
    const slept = part.run.sleep(5).then(() => 'slept')
    await part.next(await noted(part, 'first', Promise.race([slept, ...part.numbers.map((n) => part.work(n))])))
  },
  waits: async (part) => {
    const waits = [
      part.run.waitFor('go', { until: 4 }),
      part.run.sleep(3).then(() => 'slept'),
      part.run.waitFor('stop', { until: 8 }),
    ]
    const racing = [...waits, ...part.numbers.map((n) => part.work(n))]
    await Promise.all(racing.map((each, n) => noted(part, `wait ${n}`, each)))
  },
  again: (part) =>
    Promise.all(
      part.numbers.map(async (n) => {
        await noted(part, `again ${n}`, part.work(n))
        await noted(part, 'same', part.same(n % 2))
      }),
    ),
  letGo: async (part) => {
    const { run, i, numbers } = part
    const branches = ['p', 'q'].map((name) => ({
      name,
      agent: name,
      run: async () => ({
        [`first ${i} ${name}`]: await Promise.race(numbers.map((n) => part.keep(n).catch(() => n))),
      }),
    }))
    const joined = run.fork(branches, { join: 'union', agent: 'author' } as never).then(({ output }) => output)
    await part.next(await noted(part, 'let go', joined))
  },
  unwound: async (part) => {
    const { run, numbers } = part
    // Something to undo, nothing to undo, nothing recorded.
    const did = (n: number) => [part.keep, part.work, async () => n][(part.i + n) % 3]?.(n)
    const branches = numbers.map((n) => ({
      name: `b${n}`,
      agent: `b${n}`,
      run: async () => ({ [`kept ${part.i}`]: await did(n) }),
    }))
    const forked = async (): Promise<void> => {
      const onDiscard = numbers.length % 2 === 0 ? 'keep' : 'compensate'
      const { unwound } = await run.fork(branches, { join: 'first_wins', onDiscard } as never)
      part.see('joined')
      await part.next(
        await noted(
          part,
          'unwound',
          unwound.then((all) => all.map(({ status }) => status)),
        ),
      )
    }
    await Promise.all([
      noted(part, 'fork', forked()),
      ...numbers.map(async (n) => part.next(await noted(part, 'beside', part.work(n)))),
    ])
  },
  checked: (part) => {
    const { run, numbers } = part
    const steps = [...numbers.map((n) => ({ tool: 'checked', args: [n] })), { tool: 'breaks', args: [] }]
    const saga = run.saga((part.i % 2 === 0 ? steps : steps.slice(0, -1)) as never)
    const told = saga.then((document) => normal(shown(document)))
    return Promise.all([
      noted(part, 'checked', told.then(part.next)),
      ...numbers.map(async (n) => part.next(await noted(part, 'beside', part.work(n)))),
    ])
  },
  kinds: (part) => {
    const { run, cs, i } = part
    const saga = run.saga([
      { tool: 'step', args: [i] },
      { tool: 'breaks', args: [] },
    ] as never)
    const branches = ['p', 'q'].map((name) => ({ name, agent: name, run: () => ({ [`own ${i} ${name}`]: 1 }) }))
    return Promise.all([
      ...part.numbers.map((n) => noted(part, `kind ${n}`, part.work(n))),
      noted(
        part,
        'nested',
        cs.run({ name: `nested ${i}` }, () => Promise.reject(new NotFound(i))),
      ),
      noted(
        part,
        'once',
        run.once('value', () => i),
      ),
      noted(
        part,
        'saga',
        saga.then(({ status }) => status),
      ),
      noted(
        part,
        'fork',
        run.fork(branches, { join: 'union', agent: 'author' } as never).then(() => 'joined'),
      ),
    ])
  },
}

/** What was done, by the key of its call. */
const DONE = new Map<string, unknown>()

/** All that its code sees, in order. */
export function observedTogether(cs: Countersign<unknown>, program: readonly Together[]) {
  const log: string[] = []
  const see = (text: string): void => void log.push(text)
  const options = { onUnknown: 'retry', backoff: NO_WAIT, dedupe: 'position' } as const
  cs.tool((n: number) => n, { ...options, name: 'step', compensate: () => undefined })
  cs.tool(() => Promise.reject(new NotFound('step')), { ...options, name: 'breaks', compensate: 'not-needed' })
  cs.tool(
    (n: number) => {
      DONE.set(currentCall()?.idempotencyKey ?? '', n)
      return n
    },
    {
      name: 'checked',
      dedupe: 'position',
      // What nobody could tell about would stay in doubt, and the run open.
      compensate: { run: () => undefined, onUnknown: 'retry' },
      check: (_: number, { idempotencyKey: key }: { idempotencyKey: string }) =>
        DONE.has(key) ? { done: true, result: DONE.get(key) } : { done: false },
    } as never,
  )
  const parts = program.map(({ pattern, calls }, i) => {
    const at = { ...options, compensate: 'not-needed' } as const
    const work = async (n: number): Promise<{ n: number }> => {
      const { takesMs = 0, fails = false } = calls[n] ?? {}
      if (takesMs > 0) await new Promise((resolve) => setTimeout(resolve, takesMs))
      if (fails) throw new NotFound(n)
      return { n }
    }
    const tools = {
      work: cs.tool(work, { ...at, name: `work${i}`, errors: [NotFound] }),
      keep: cs.tool(work, { ...options, name: `keep${i}`, errors: [NotFound], compensate: () => undefined }),
      next: cs.tool((what: string) => what, { ...at, name: `next${i}` }),
      same: cs.tool((n: number) => n, { ...at, name: `same${i}`, dedupe: 'args' }),
    } as unknown as Tools
    const numbers = calls.map((_, n) => n)
    return (run: Run<unknown>) => DOES[pattern]({ ...tools, run, cs, i, numbers, see })
  })
  const body = async (run: Run<unknown>): Promise<unknown> => {
    for (const part of parts) await part(run)
    see('end')
    return log
  }
  return { cs, log, body }
}
