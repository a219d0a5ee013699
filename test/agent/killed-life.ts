/** @module Lives of a program that does real things and, where it is to die, kills its own process at a bad moment. */
import { randomUUID } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { open } from '../../src/agent/open.ts'
import { currentCall } from '../../src/agent/runtime/execution-context.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { outcomeOf } from '../../src/agent/saga/outcome.ts'

const SHORT_LEASE = { leaseMs: 100 }

/** One life: where its effects are written, and whether it dies. */
export interface Life {
  readonly folder: string
  readonly dies: boolean
}

const fileOf = ({ folder }: Life): string => join(folder, 'effects')
const effects = (life: Life): string => (existsSync(fileOf(life)) ? readFileSync(fileOf(life), 'utf8') : '')
const effect = (life: Life, line: string): void => appendFileSync(fileOf(life), `${line}\n`)

/** A signal to oneself arrives a moment later: nothing may be settled until then. */
async function dieHere({ dies }: Life): Promise<void> {
  if (!dies) return
  process.kill(process.pid, 'SIGKILL')
  await new Promise(() => setInterval(() => {}, 1_000))
}

/** Between the effect and the settle. */
function charges(
  cs: Countersign,
  life: Life,
  { order, checked }: { order: () => string; checked: boolean },
): Promise<string> {
  const charge = cs.tool(
    async (to: string) => {
      effect(life, `charge ${currentCall()?.idempotencyKey}`)
      await dieHere(life)
      return `paid ${to}`
    },
    {
      name: 'charge',
      ...SHORT_LEASE,
      ...(checked && {
        check: ([to], { idempotencyKey }) =>
          effects(life).includes(idempotencyKey) ? { done: true, result: `paid ${to}` } : { done: false },
      }),
    },
  )
  return cs.run({ id: 'order' }, () => charge(order()))
}

/** Between the first compensation and the second. */
function undoes(cs: Countersign, life: Life): Promise<never> {
  const step = cs.tool((n: number) => n, {
    name: 'step',
    ...SHORT_LEASE,
    onUnknown: 'retry',
    compensate: async ({ args: [n] }) => {
      if (n === 2) await dieHere(life)
      effect(life, `undo ${n}`)
    },
  })
  return cs.run({ id: 'order' }, async () => {
    for (const n of [1, 2, 3]) await step(n)
    throw new Error('no truck')
  })
}

/** In a branch between the effect and the settle, or while the branch that lost is undone. */
function forks(cs: Countersign, life: Life, dieIn: 'call' | 'undo'): Promise<unknown> {
  const book = cs.tool(
    async (hotel: string) => {
      effect(life, `book ${hotel} ${currentCall()?.idempotencyKey}`)
      if (dieIn === 'call' && hotel === 'Inn') await dieHere(life)
      return hotel
    },
    {
      name: 'book',
      ...SHORT_LEASE,
      onUnknown: 'retry',
      check: ([hotel], { idempotencyKey }) =>
        effects(life).includes(idempotencyKey) ? { done: true, result: hotel } : { done: false },
      compensate: async ({ result }) => {
        if (dieIn === 'undo') await dieHere(life)
        effect(life, `cancel ${result}`)
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
function asks(cs: Countersign, life: Life): Promise<string> {
  return cs.run({ id: 'order', budget: { tokens: 100 } }, (run) =>
    run.model({
      provider: 'acme',
      model: 'small',
      request: 'hello',
      estimate: { inputTokens: 10, outputTokens: 20 },
      ...SHORT_LEASE,
      call: async () => {
        effect(life, 'asked')
        await dieHere(life)
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

const SCENARIOS = {
  blind: (cs, life) => charges(cs, life, { order: () => 'order', checked: false }),
  checked: (cs, life) => charges(cs, life, { order: () => 'order', checked: true }),
  uuid: (cs, life) => charges(cs, life, { order: randomUUID, checked: true }),
  undo: undoes,
  branch: (cs, life) => forks(cs, life, 'call'),
  unwind: (cs, life) => forks(cs, life, 'undo'),
  model: async (cs, life) => [await asks(cs, life), ...(await budgetEvents(cs))],
} satisfies Readonly<Record<string, (cs: Countersign, life: Life) => Promise<unknown>>>

export type Scenario = keyof typeof SCENARIOS

/** Lives to its end, if it comes: what the run gave, or the code it was refused with and its outcome. */
export async function lived(scenario: Scenario, life: Life): Promise<unknown> {
  await using cs = await open({ path: join(life.folder, 'data') })
  try {
    return { output: await SCENARIOS[scenario](cs, life) }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : String(error)
    return { code, status: outcomeOf(error)?.status }
  }
}
