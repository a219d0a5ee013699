/** @module A process that does real things and kills itself at a bad moment: `kill-child.js FOLDER SCENARIO [die]`. */
import { randomUUID } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { open } from '../../src/agent/open.ts'
import { currentCall } from '../../src/agent/runtime/execution-context.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { outcomeOf } from '../../src/agent/saga/outcome.ts'

const [folder = '', scenario = '', fate] = process.argv.slice(2)
const EFFECTS = join(folder, 'effects')
const SHORT_LEASE = { leaseMs: 100 }

const effects = (): string => (existsSync(EFFECTS) ? readFileSync(EFFECTS, 'utf8') : '')
const effect = (line: string): void => appendFileSync(EFFECTS, `${line}\n`)
const dieHere = (): void => {
  if (fate === 'die') process.kill(process.pid, 'SIGKILL')
}

/** Between the effect and the settle. */
function charges(cs: Countersign, order: () => string, checked: boolean): Promise<string> {
  const charge = cs.tool(
    async (to: string) => {
      effect(`charge ${currentCall()?.idempotencyKey}`)
      dieHere()
      // A signal to oneself arrives a moment later: nothing may be settled until then.
      if (fate === 'die') await new Promise(() => setInterval(() => {}, 1_000))
      return `paid ${to}`
    },
    {
      name: 'charge',
      ...SHORT_LEASE,
      ...(checked && {
        check: ([to], { idempotencyKey }) =>
          effects().includes(idempotencyKey) ? { done: true, result: `paid ${to}` } : { done: false },
      }),
    },
  )
  return cs.run({ id: 'order' }, () => charge(order()))
}

/** Between the first compensation and the second. */
function undoes(cs: Countersign): Promise<never> {
  const step = cs.tool((n: number) => n, {
    name: 'step',
    ...SHORT_LEASE,
    onUnknown: 'retry',
    compensate: async ({ args: [n] }) => {
      if (n === 2) dieHere()
      if (n === 2 && fate === 'die') await new Promise(() => setInterval(() => {}, 1_000))
      effect(`undo ${n}`)
    },
  })
  return cs.run({ id: 'order' }, async () => {
    for (const n of [1, 2, 3]) await step(n)
    throw new Error('no truck')
  })
}

/** In a branch between the effect and the settle, or while the branch that lost is undone. */
function forks(cs: Countersign, dieIn: 'call' | 'undo'): Promise<unknown> {
  const stop = (): Promise<void> =>
    fate === 'die' ? new Promise(() => setInterval(() => {}, 1_000)) : Promise.resolve()
  const book = cs.tool(
    async (hotel: string) => {
      effect(`book ${hotel} ${currentCall()?.idempotencyKey}`)
      if (dieIn === 'call' && hotel === 'Inn') {
        dieHere()
        await stop()
      }
      return hotel
    },
    {
      name: 'book',
      ...SHORT_LEASE,
      onUnknown: 'retry',
      check: ([hotel], { idempotencyKey }) =>
        effects().includes(idempotencyKey) ? { done: true, result: hotel } : { done: false },
      compensate: async ({ result }) => {
        if (dieIn === 'undo') {
          dieHere()
          await stop()
        }
        effect(`cancel ${result}`)
      },
    },
  )
  const branch = (agent: string, stars: number) => ({ agent, run: async () => ({ hotel: await book(agent), stars }) })
  return cs.run({ id: 'trip', policy: { ungrounded: 'off', protect: [] } }, async (run) => {
    const { winners } = await run.fork([branch('Palace', 5), branch('Inn', 3)], {
      join: 'vote',
      score: ({ stars }) => Number(stars),
    })
    return winners
  })
}

/** Between what a model said and its settle: what it may have cost is known to nobody. */
function asks(cs: Countersign): Promise<string> {
  return cs.run({ id: 'order', budget: { tokens: 100 } }, (run) =>
    run.model({
      provider: 'acme',
      model: 'small',
      request: 'hello',
      estimate: { inputTokens: 10, outputTokens: 20 },
      ...SHORT_LEASE,
      call: async () => {
        effect('asked')
        dieHere()
        if (fate === 'die') await new Promise(() => setInterval(() => {}, 1_000))
        return 'said'
      },
      usage: () => ({ inputTokens: 3, outputTokens: 4 }),
    }),
  )
}

/** Types of the run's events that concern the budget. */
async function budgetEvents(cs: Countersign): Promise<string[]> {
  let text = ''
  for await (const portion of cs.export('order')) text += portion
  return [...text.matchAll(/"type":"(Budget\w+|ReservationExpired|UsageRecorded)"/g)].map(([, type]) => type ?? '')
}

const SCENARIOS: Readonly<Record<string, (cs: Countersign) => Promise<unknown>>> = {
  blind: (cs) => charges(cs, () => 'order', false),
  checked: (cs) => charges(cs, () => 'order', true),
  uuid: (cs) => charges(cs, randomUUID, true),
  undo: undoes,
  branch: (cs) => forks(cs, 'call'),
  unwind: (cs) => forks(cs, 'undo'),
  model: async (cs) => [await asks(cs), ...(await budgetEvents(cs))],
}

await using cs = await open({ path: join(folder, 'data') })
try {
  const output = await SCENARIOS[scenario]?.(cs)
  process.stdout.write(JSON.stringify({ output }))
} catch (error) {
  const code = error instanceof Error && 'code' in error ? error.code : String(error)
  process.stdout.write(JSON.stringify({ code, status: outcomeOf(error)?.status }))
}
