/** @module Bodies of calls, compensations and budgets, in each of the shapes that mean something else (`every-event.ts`). */
import { createHash } from 'node:crypto'
import type { EventBody, EventType } from '../../schemas/events.ts'
import type { Json } from '../../schemas/json.ts'
import { MODEL_USAGE } from './model-usage.ts'

const digest = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`
const uuid = (n: number): string => `01890a5d-ac96-774b-8cce-${String(n).padStart(12, '0')}`
const until = '2026-01-02T03:14:05.678Z'

type Claim = EventBody<'ToolCallClaimed'>

const claim = (n: number, tool: string, more: Partial<Claim> = {}): Claim => ({
  v: 1,
  callId: uuid(n),
  fence: 1,
  key: `k${n}`,
  tool,
  phase: 'forward',
  args: { n },
  argsDigest: digest(`args ${n}`),
  attempt: 1,
  generation: 1,
  leaseMs: 60_000,
  leaseUntil: until,
  onUnknown: 'in-doubt',
  ...more,
})

const undo = (n: number, of: number): Claim =>
  claim(n, 'undo', { phase: 'compensation', key: uuid(of), compensates: uuid(of) })

const ofCall = (n: number) => ({ v: 1 as const, callId: uuid(n), fence: 1 })
const ENTRANCE = { v: 1, entrance: 'mcp', server: 'payments' } as const

const request = (n: number, tool: string): EventBody<'ApprovalRequested'> => ({
  ...{ v: 1, approvalId: uuid(n), key: `k${n}`, tool, phase: 'forward', args: { n }, argsDigest: digest(`args ${n}`) },
  generation: 1,
  agent: 'ann',
  scope: 'step:ann',
  occurrence: 0,
  needs: [{ source: 'policy', reason: 'over the limit', quorum: 1, roles: ['treasurer'] }],
  expiresAt: until,
  selfApproval: false,
  onDenied: 'error',
})

const ofApproval = (n: number, tool: string) => {
  return { v: 1 as const, approvalId: uuid(n), tool, argsDigest: digest(`args ${n}`) }
}

const wait = (n: number, of: Partial<EventBody<'WaitStarted'>>): EventBody<'WaitStarted'> => {
  return { v: 1, waitId: uuid(n), key: digest(`wait ${n}`), ...of }
}

const signal = (n: number, name: string, payload: Json): EventBody<'SignalReceived'> => {
  return { v: 1, signalId: uuid(n), name, payload, payloadDigest: digest(`payload ${n}`) }
}

export const CALL_BODIES = {
  ApprovalRequested: [
    request(70, 'wire'),
    request(71, 'pay'),
    { ...request(72, 'sell'), onDenied: 'rollback', undoneBy: 'buy-back' },
    request(73, 'lend'),
  ],
  ApprovalGranted: [
    { ...ofApproval(70, 'wire'), roles: ['treasurer'], comment: 'once more', complete: false },
    { ...ofApproval(70, 'wire'), complete: true },
  ],
  ApprovalDenied: [{ ...ofApproval(71, 'pay'), comment: '=too much' }],
  ApprovalWithdrawn: [{ ...ofApproval(73, 'lend'), roles: ['treasurer'], comment: 'another account' }],
  ApprovalExpired: [{ v: 1, approvalId: uuid(72), tool: 'sell' }],
  WaitStarted: [
    wait(60, { name: 'confirmed', until, schema: { type: 'object' }, scope: 'step:ann', occurrence: 0 }),
    wait(61, { until }),
    wait(62, { name: 'answer', parentCall: uuid(1) }),
    wait(63, { name: 'never', until }),
  ],
  SignalReceived: [
    { ...signal(65, 'confirmed', { by: '=bob' }), waitId: uuid(60) },
    signal(66, 'answer', 'no'),
    signal(67, 'answer', { yes: true }),
  ],
  SignalPassedOver: [
    { v: 1, signalId: uuid(66), name: 'answer', waitId: uuid(62), faults: [{ path: '', message: 'is no object' }] },
  ],
  WaitEnded: [
    { v: 1, waitId: uuid(62), outcome: 'signalled', signalId: uuid(67) },
    { v: 1, waitId: uuid(61), outcome: 'elapsed' },
    { v: 1, waitId: uuid(63), outcome: 'timed-out' },
  ],
  ToolCallClaimed: [
    claim(1, 'charge', { agent: 'ann', scope: 'step:ann', occurrence: 0, group: 'g', compensate: { tool: 'undo' } }),
    claim(2, 'ship', { agent: 'ann', compensate: 'none', reservationId: uuid(82) }),
    claim(3, 'email'),
    claim(4, 'text'),
    undo(5, 1),
    undo(6, 2),
    undo(7, 3),
    claim(8, 'chat', { phase: 'model', agent: 'bob', onUnknown: 'retry' }),
    claim(9, 'left open', { parentCall: uuid(1) }),
    claim(10, 'forgotten'),
    claim(11, 'refund', { attempt: 2, fence: 2 }),
    claim(12, 'wire', { key: 'k70', approvalId: uuid(70) }),
    claim(13, 'look', { effects: 'none', after: 1 }),
  ],
  ToolCallLeaseRenewed: [{ ...ofCall(9), leaseMs: 60_000, leaseUntil: until }],
  ToolCallSucceeded: [
    { ...ofCall(1), result: { receipt: 'r-1' } },
    { ...ofCall(8), unrecorded: { reason: 'too large' } },
  ],
  ToolCallFailed: [{ ...ofCall(2), error: { message: 'broke', code: 'EBROKE' } }],
  ToolCallInDoubt: [
    { ...ofCall(3), cause: 'lease-expired' },
    { ...ofCall(4), cause: 'outcome-unknown', reason: 'the line broke' },
    { ...ofCall(11), fence: 2, cause: 'outcome-unknown' },
  ],
  ToolCallResolved: [
    { ...ofCall(3), outcome: 'executed', result: { sent: true }, evidence: 'looked' },
    { ...ofCall(4), outcome: 'not-executed', evidence: { ticket: 7 } },
    { ...ofCall(11), fence: 2, outcome: 'compensated', evidence: 'undone by hand' },
  ],
  ResultNotRecorded: [{ ...ofCall(10), reason: 'the store was away' }],
  ToolDefinitionsSeen: [
    {
      ...ENTRANCE,
      digest: digest('definitions'),
      count: 1,
      tools: [{ name: 'charge', digest: digest('charge') }],
      outcome: 'shown',
    },
    { ...ENTRANCE, digest: digest('other definitions'), count: 0, tools: [], outcome: 'refused' },
  ],
  CaptureGap: [{ ...ENTRANCE, from: '2026-01-01T00:00:00.000Z', to: '2026-01-01T00:00:09.000Z', count: 3 }],
  CompensationStarted: [
    { v: 1, compensationId: uuid(90), reason: 'the customer left', plan: [[uuid(2)], [uuid(1)]] },
    { v: 1, compensationId: uuid(91), reason: 'one branch', scope: 'step:ann', plan: [] },
    { v: 1, compensationId: uuid(92), reason: 'it broke', error: { message: 'it broke', code: 'E_OUT' }, plan: [] },
  ],
  CompensationSucceeded: [{ ...ofCall(5), result: null, compensates: uuid(1) }],
  CompensationFailed: [{ ...ofCall(6), error: { message: 'no' }, compensates: uuid(2), willRetry: true }],
  CompensationInDoubt: [{ ...ofCall(7), cause: 'outcome-unknown', compensates: uuid(3) }],
} satisfies { readonly [T in EventType]?: readonly EventBody<T>[] }

export const BUDGET_BODIES = {
  BudgetReserved: [
    {
      v: 1,
      reservationId: uuid(80),
      agent: 'bob',
      tokens: 100,
      cost: '1',
      currency: 'USD',
      provider: 'p',
      model: 'm-1',
      deadline: until,
      callId: uuid(8),
    },
    { v: 1, reservationId: uuid(81), agent: 'ann', tokens: 5, cost: '0', deadline: until },
    { v: 1, reservationId: uuid(82), agent: 'ann', tokens: 6, cost: '0.5', deadline: until },
    { v: 1, reservationId: uuid(83), agent: 'ann', tokens: 7, cost: '0', deadline: until },
  ],
  UsageRecorded: [
    { v: 1, agent: 'bob', usage: MODEL_USAGE, reservationId: uuid(80), callId: uuid(8) },
    { v: 1, agent: 'ann', usage: { tokens: 2_000, model: 'm-2' }, overshoot: { tokens: 1_030, cost: '0' } },
  ],
  BudgetReleased: [{ v: 1, reservationId: uuid(81), reason: 'not needed' }],
  ReservationExpired: [
    { v: 1, reservationId: uuid(82) },
    { v: 1, reservationId: uuid(83), cause: 'run-completed' },
  ],
  BudgetExceeded: [
    {
      v: 1,
      agent: 'ann',
      scope: 'run',
      dimension: 'tokens',
      limit: '1000',
      spent: '900',
      reserved: '50',
      requested: '200',
      fingerprint: digest('exceeded'),
      claim: { tool: 'charge', phase: 'forward', key: 'k12' },
    },
    {
      v: 1,
      agent: 'bob',
      scope: 'agent',
      dimension: 'tokens',
      limit: '500',
      spent: '450',
      reserved: '0',
      requested: '60',
      fingerprint: digest('over the cap'),
      handoff: { content: digest('handed over'), scope: 'step:bob', occurrence: 1 },
    },
  ],
} satisfies { readonly [T in EventType]?: readonly EventBody<T>[] }
