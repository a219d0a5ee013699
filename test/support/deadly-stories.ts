/** @module Runs that do real things, in a process that kills itself at a bad moment or in one that goes on after it. */
import { randomUUID } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { open } from '../../src/agent/open.ts'
import { currentCall } from '../../src/agent/runtime/execution-context.ts'
import type { Countersign } from '../../src/agent/runtime/runtime.ts'
import { outcomeOf } from '../../src/agent/saga/outcome.ts'

/** One process's part of a story; the next resumes it on the same folder. */
class Life {
  readonly #file: string
  readonly #dies: boolean

  constructor(folder: string, dies: boolean) {
    this.#file = join(folder, 'effects')
    this.#dies = dies
  }

  effects(): string {
    return existsSync(this.#file) ? readFileSync(this.#file, 'utf8') : ''
  }

  effect(line: string): void {
    appendFileSync(this.#file, `${line}\n`)
  }

  /** A signal to oneself arrives a moment later: what is never resolved lets nothing go on until then. */
  async dieHere(): Promise<void> {
    if (!this.#dies) return
    process.kill(process.pid, 'SIGKILL')
    await new Promise(() => setInterval(() => {}, 1_000))
  }
}

const SHORT_LEASE = { leaseMs: 100 }

/** Between the effect and the settle. */
function charges(
  life: Life,
  cs: Countersign,
  { order, checked }: { readonly order: () => string; readonly checked: boolean },
): Promise<string> {
  const charge = cs.tool(
    async (to: string) => {
      life.effect(`charge ${currentCall()?.idempotencyKey}`)
      await life.dieHere()
      return `paid ${to}`
    },
    {
      name: 'charge',
      ...SHORT_LEASE,
      ...(checked && {
        check: ([to], { idempotencyKey }) =>
          life.effects().includes(idempotencyKey) ? { done: true, result: `paid ${to}` } : { done: false },
      }),
    },
  )
  return cs.run({ id: 'order' }, () => charge(order()))
}

/** Between the first compensation and the second. */
function undoes(life: Life, cs: Countersign): Promise<never> {
  const step = cs.tool((n: number) => n, {
    name: 'step',
    ...SHORT_LEASE,
    onUnknown: 'retry',
    compensate: async ({ args: [n] }) => {
      if (n === 2) await life.dieHere()
      life.effect(`undo ${n}`)
    },
  })
  return cs.run({ id: 'order' }, async () => {
    for (const n of [1, 2, 3]) await step(n)
    throw new Error('no truck')
  })
}

/** In a branch between the effect and the settle, or while the branch that lost is undone. */
function forks(life: Life, cs: Countersign, dieIn: 'call' | 'undo'): Promise<unknown> {
  const book = cs.tool(
    async (hotel: string) => {
      life.effect(`book ${hotel} ${currentCall()?.idempotencyKey}`)
      if (dieIn === 'call' && hotel === 'Inn') await life.dieHere()
      return hotel
    },
    {
      name: 'book',
      ...SHORT_LEASE,
      onUnknown: 'retry',
      check: ([hotel], { idempotencyKey }) =>
        life.effects().includes(idempotencyKey) ? { done: true, result: hotel } : { done: false },
      compensate: async ({ result }) => {
        if (dieIn === 'undo') await life.dieHere()
        life.effect(`cancel ${result}`)
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
function asks(life: Life, cs: Countersign): Promise<string> {
  return cs.run({ id: 'order', budget: { tokens: 100 } }, (run) =>
    run.model({
      provider: 'acme',
      model: 'small',
      request: 'hello',
      estimate: { inputTokens: 10, outputTokens: 20 },
      ...SHORT_LEASE,
      call: async () => {
        life.effect('asked')
        await life.dieHere()
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

const STORIES = {
  blind: (life, cs) => charges(life, cs, { order: () => 'order', checked: false }),
  checked: (life, cs) => charges(life, cs, { order: () => 'order', checked: true }),
  uuid: (life, cs) => charges(life, cs, { order: randomUUID, checked: true }),
  undo: undoes,
  branch: (life, cs) => forks(life, cs, 'call'),
  unwind: (life, cs) => forks(life, cs, 'undo'),
  model: async (life, cs) => [await asks(life, cs), ...(await budgetEvents(cs))],
} as const satisfies Record<string, (life: Life, cs: Countersign) => Promise<unknown>>

export type Story = keyof typeof STORIES

/** Begins a story or goes on with it; `dies`: this process ends at its bad moment. Gives the output, or what the run failed with. */
export async function liveOn(story: Story, { folder, dies }: { readonly folder: string; readonly dies: boolean }) {
  await using cs = await open({ path: join(folder, 'data') })
  try {
    return { output: await STORIES[story](new Life(folder, dies), cs) }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : String(error)
    return { code, status: outcomeOf(error)?.status }
  }
}
