/** @module A run that does a little of everything, by chance: accepted and refused handoffs, calls, rollbacks, reservations, ends. */
import { isJsonObject, type JsonObject } from '../../schemas/json.ts'
import type { Caller, Command, Outcome } from '../../src/ledger/ledger.ts'
import { pick, seededRandom } from './random.ts'
import { alice, type TestLedger } from './test-ledger.ts'

const AGENTS = ['ann', 'bob', '__proto__', '10']
const STEP_MS = [0, 1, 40_000]

export interface RandomRunOptions {
  readonly seed: number
  readonly steps?: number
  readonly caller?: Caller
}

/** What is refused is part of it. */
export async function randomRun(test: TestLedger, runId: string, options: RandomRunOptions): Promise<void> {
  const { seed, steps = 40, caller = alice } = options
  const random = seededRandom(seed)
  const calls: { id: string; fence: number }[] = []
  const reservations: string[] = []
  const forks: string[] = []
  const run = async (command: Command): Promise<JsonObject> => {
    const idempotency = random() < 0.5 ? {} : { idempotency: { key: `k${random()}`, method: 'POST', path: '/v1/x' } }
    const outcome: Outcome = await test.ledger.execute(caller, runId, command, idempotency)
    return outcome.ok ? outcome.body : {}
  }
  const budget = { tokens: 500, cost: { limit: '2.5', currency: 'EUR' } }
  await run({ kind: 'start', body: { id: runId, name: 'chance', tags: ['a', 'b'], input: { q: 1 }, budget } })
  for (let step = 0; step < steps; step += 1) {
    test.clock.nowMs += pick(random, STEP_MS)
    const body = await run(randomCommand(random, { calls, reservations, forks }))
    if (typeof body.forkId === 'string' && !forks.includes(body.forkId)) forks.push(body.forkId)
    if (typeof body.callId === 'string') calls.push({ id: body.callId, fence: Number(body.fence ?? 1) })
    if (typeof body.reservationId === 'string') reservations.push(body.reservationId)
    const reservation = isJsonObject(body.reservation) ? body.reservation.reservationId : undefined
    if (typeof reservation === 'string') reservations.push(reservation)
  }
}

interface Known {
  readonly calls: readonly { readonly id: string; readonly fence: number }[]
  readonly reservations: readonly string[]
  readonly forks: readonly string[]
}

function randomCommand(random: () => number, { calls, reservations, forks }: Known): Command {
  const forkId = forks.at(-1) ?? crypto.randomUUID()
  const agent = pick(random, AGENTS)
  const call = calls.length === 0 ? undefined : pick(random, calls)
  const reservationId = reservations.length === 0 ? crypto.randomUUID() : pick(random, reservations)
  const usage = { tokens: Math.floor(random() * 30), cost: '0.015', currency: 'EUR' }
  const number = Math.floor(random() * 6)
  const commands: readonly (() => Command)[] = [
    () => ({
      kind: 'envelope',
      body: { agent, tokens: 3, mode: 'extend', payload: { facts: [`f${number}`], note: { 10: 'x' } } },
    }),
    () => ({ kind: 'envelope', body: { agent, mode: 'merge', payload: { plan: { [`p${number}`]: null } } } }),
    () => ({ kind: 'envelope', body: { agent, mode: 'replace', payload: { entities: ['Apple'], n: number } } }),
    () => ({ kind: 'rollback', body: { reason: 'chance' } }),
    () => ({
      kind: 'fork',
      body: { agent, branches: BRANCHES, join: pick(random, ['union', 'vote', 'first_wins'] as const) },
    }),
    () => ({ kind: 'branch', forkId, body: { branch: pick(random, ['left', 'right']), ...pick(random, REPORTS) } }),
    () => ({ kind: 'branch', forkId, body: { branch: 'left', output: { facts: ['left'] }, score: number } }),
    () => ({ kind: 'join', forkId, body: {} }),
    () => ({ kind: 'manifest', body: { agent, writes: ['facts', 'plan'], schema: { type: 'object' } } }),
    () => ({
      kind: 'claim',
      body: {
        tool: `t${number}`,
        args: { number },
        agent,
        leaseMs: 30_000,
        onUnknown: pick(random, ['retry', 'in-doubt'] as const),
        ...(random() < 0.5 ? {} : { reserve: { agent, tokens: number, cost: '0.1', currency: 'EUR' } }),
        ...(random() < 0.5 ? {} : { phase: 'model' as const, scope: 'step:a', occurrence: number }),
      },
    }),
    () => ({
      kind: 'settle',
      callId: call?.id ?? '',
      body: { fence: call?.fence ?? 1, ...pick(random, OUTCOMES), usage },
    }),
    () => ({ kind: 'resolve', callId: call?.id ?? '', body: { outcome: 'executed', evidence: 'seen' } }),
    () => ({ kind: 'renew', callId: call?.id ?? '', body: { fence: call?.fence ?? 1 } }),
    () => ({ kind: 'reserve', body: { agent, tokens: number * 10, cost: '0.2', currency: 'EUR', deadlineMs: 30_000 } }),
    () => ({ kind: 'settle-reservation', reservationId, body: { usage } }),
    () => ({ kind: 'release', reservationId, body: {} }),
    () => ({ kind: 'usage', body: { agent, usage } }),
    () =>
      random() < 0.2 ? { kind: 'compensate', body: { reason: 'chance' } } : { kind: 'usage', body: { agent, usage } },
    () => ({ kind: 'claim', body: { tool: 'undo', phase: 'compensation', key: call?.id ?? 'none', args: {} } }),
    () =>
      random() < 0.1
        ? { kind: 'complete', body: { output: 'done' } }
        : { kind: 'rollback', body: { reason: 'x', toStep: 0 } },
  ]
  return pick(random, commands)()
}

const BRANCHES = [
  { name: 'left', agent: 'ann' },
  { name: 'right', agent: 'bob' },
]
const REPORTS = [
  { output: { facts: ['right'] } },
  { output: { plan: { deep: [1] } }, tokens: 4 },
  { error: { message: 'no' } },
  { aborted: { reason: 'late' } },
] as const
const OUTCOMES = [{ result: { deep: [1] } }, { error: { message: 'no' } }, { unknown: { reason: 'lost' } }] as const
