/** @module Lets a claim wait for the outcome of the call it repeats, or for its approval (`Prefer: wait=20`), instead of having its caller poll. */
import { declarationOf } from '../../schemas/events.ts'
import type { JsonObject } from '../../schemas/json.ts'
import { DEADLINE_GRACE_MS } from '../domain/decision.ts'
import type { Ledger, Outcome } from '../ledger/ledger.ts'
import type { LedgerEvent } from '../ledger/ledger-event.ts'
import type { ReadyCommand } from './command-route.ts'
import { bearerToken } from './dispatch.ts'
import { preferredWaitSeconds } from './parameters.ts'
import type { RequestContext } from './route.ts'

type Execute = () => Promise<Outcome>

/** Slightly longer than the grace period after which a claim can end another's lease. */
const PAST_LEASE_MS = DEADLINE_GRACE_MS + 100
/** Maximum of one timer, in milliseconds: an approval may take longer, but the caller never waits longer than requested. */
const WAIT_MAX_MS = 60_000

/** Executes a claim; if another caller runs the call and this caller prefers to wait, the claim is retried when that call has ended. */
export async function claimOrWait(context: RequestContext, { command, info }: ReadyCommand): Promise<Outcome> {
  const { deps, caller, run, c } = context
  const execute: Execute = () => deps.ledger.execute(caller, run, command, info)
  const first = await execute()
  const waitSeconds = preferredWaitSeconds(c.req.header('prefer'))
  if (waitSeconds === undefined || !isRunning(first)) return first

  const release = deps.slots.acquire(caller.tenant, 'tail')
  if (typeof release === 'string') return first
  const gaveUp = new AbortController()
  const giveUp = (): void => gaveUp.abort()
  const timer = setTimeout(giveUp, waitSeconds * 1000)
  const { signal: left } = c.req.raw
  // A caller that has disconnected, or may no longer ask, must not be granted a call: its claim is not retried.
  const gone = new AbortController()
  const leave = (): void => {
    gone.abort()
    giveUp()
  }
  const token = bearerToken(c.req.header('authorization')) ?? ''
  const unwatch = deps.liveTokens.watch({ token, expiresAt: caller.expiresAt }, leave)
  deps.draining.addEventListener('abort', giveUp)
  left.addEventListener('abort', leave)
  if (left.aborted) leave()
  try {
    return await waitFor(context, execute, { first, gaveUp: gaveUp.signal, gone: gone.signal })
  } finally {
    unwatch()
    clearTimeout(timer)
    deps.draining.removeEventListener('abort', giveUp)
    left.removeEventListener('abort', leave)
    gaveUp.abort()
    release()
  }
}

interface Waiting {
  readonly first: Outcome
  /** Aborted when the caller takes the current answer, whatever it is. */
  readonly gaveUp: AbortSignal
  /** Aborted when the caller may no longer be granted the call. */
  readonly gone: AbortSignal
}

async function waitFor(
  { deps, caller, run }: RequestContext,
  execute: Execute,
  { first, gaveUp, gone }: Waiting,
): Promise<Outcome> {
  for (let outcome = first; ; ) {
    // The end of the store is read before the retry, so that no outcome is missed in between.
    const after = await deps.ledger.end()
    if (gone.aborted) return outcome
    outcome = await execute()
    if (!isRunning(outcome) || gaveUp.aborted || deps.draining.aborted) return outcome
    const awaited = awaitedIn(outcome)
    const untilOverMs = awaited.untilMs - deps.now() + PAST_LEASE_MS
    const from = { runId: run, ...(after !== undefined && { after }) }
    await endOf(deps.ledger.tail.bind(deps.ledger, caller, from), awaited, {
      gaveUp,
      atMostMs: Math.min(WAIT_MAX_MS, Math.max(PAST_LEASE_MS, untilOverMs)),
    })
  }
}

/** Resolves when an event ends the call or decides the approval, when the time is over, or when the caller gives up. */
async function endOf(
  tail: (signal: AbortSignal) => ReturnType<Ledger['tail']>,
  awaited: Awaiting,
  { gaveUp, atMostMs }: { gaveUp: AbortSignal; atMostMs: number },
): Promise<void> {
  const over = new AbortController()
  const end = (): void => over.abort()
  const timer = setTimeout(end, atMostMs)
  gaveUp.addEventListener('abort', end)
  try {
    for await (const page of tail(over.signal)) {
      if (page !== 'caught-up' && page.some((event) => ends(event, awaited))) return
      if (over.signal.aborted) return
    }
  } finally {
    clearTimeout(timer)
    gaveUp.removeEventListener('abort', end)
  }
}

/** The call or approval that keeps a claim waiting, and the latest end of the wait. */
interface Awaiting {
  readonly callId?: string
  readonly approvalId?: string
  readonly untilMs: number
}

function ends({ header, data }: LedgerEvent, { callId, approvalId }: Awaiting): boolean {
  // A review of suspects may make the approval unnecessary.
  if (approvalId !== undefined) return data.approvalId === approvalId || header.type === 'SuspectReviewed'
  const call = declarationOf(header.type)?.changes.call
  return data.callId === callId && (call === 'settled' || call === 'in-doubt')
}

function isRunning(outcome: Outcome): outcome is Extract<Outcome, { ok: false }> {
  return !outcome.ok && (outcome.refusal.code === 'call-in-progress' || outcome.refusal.code === 'approval-pending')
}

function awaitedIn({ refusal: { code, evidence = {} } }: Extract<Outcome, { ok: false }>): Awaiting {
  const { callId, approvalId, leaseUntil, expiresAt }: JsonObject = evidence
  const until = code === 'approval-pending' ? expiresAt : leaseUntil
  const untilMs = typeof until === 'string' ? Date.parse(until) : 0
  return {
    untilMs,
    ...(code !== 'approval-pending' && { callId: String(callId) }),
    ...(code === 'approval-pending' && { approvalId: String(approvalId) }),
  }
}
