/** @module Holding a claim for the outcome of the call it repeats (`Prefer: wait=20`), instead of letting its caller poll. */
import { declarationOf } from '../../schemas/events.ts'
import type { JsonObject } from '../../schemas/json.ts'
import { DEADLINE_GRACE_MS } from '../domain/decision.ts'
import type { Ledger, Outcome } from '../ledger/ledger.ts'
import type { LedgerEvent } from '../ledger/ledger-event.ts'
import { bearerToken } from './authenticate.ts'
import type { ReadyCommand } from './command-route.ts'
import { preferredWaitSeconds } from './preconditions.ts'
import type { Ask } from './route.ts'

type Execute = () => Promise<Outcome>

/** Just past the grace after which a claim can end the lease of another. */
const PAST_LEASE_MS = DEADLINE_GRACE_MS + 100

/** Executes a claim; where another caller runs the call and this one would rather wait, asks again when that has ended. */
export async function claimOrWait(ask: Ask, { command, info }: ReadyCommand): Promise<Outcome> {
  const { edge, caller, run, c } = ask
  const execute: Execute = () => edge.ledger.execute(caller, run, command, info)
  const first = await execute()
  const waitSeconds = preferredWaitSeconds(c.req.header('prefer'))
  if (waitSeconds === undefined || !isRunning(first)) return first

  const release = edge.slots.acquire(caller.tenant, 'tail')
  if (typeof release === 'string') return first
  const gaveUp = new AbortController()
  const giveUp = (): void => gaveUp.abort()
  const timer = setTimeout(giveUp, waitSeconds * 1000)
  const { signal: left } = c.req.raw
  // Whoever left, or may no longer ask, wants no call: a claim that is tried once more could be granted to nobody.
  const gone = new AbortController()
  const leave = (): void => {
    gone.abort()
    giveUp()
  }
  const token = bearerToken(c.req.header('authorization')) ?? ''
  const unwatch = edge.liveTokens.watch({ token, expiresAt: caller.expiresAt }, leave)
  edge.draining.addEventListener('abort', giveUp)
  left.addEventListener('abort', leave)
  if (left.aborted) leave()
  try {
    return await waitFor(ask, execute, { first, gaveUp: gaveUp.signal, gone: gone.signal })
  } finally {
    unwatch()
    clearTimeout(timer)
    edge.draining.removeEventListener('abort', giveUp)
    left.removeEventListener('abort', leave)
    gaveUp.abort()
    release()
  }
}

interface Waiting {
  readonly first: Outcome
  /** Aborted where the caller takes whatever the answer is then. */
  readonly gaveUp: AbortSignal
  /** Aborted where nobody may have the call any more. */
  readonly gone: AbortSignal
}

async function waitFor(
  { edge, caller, run }: Ask,
  execute: Execute,
  { first, gaveUp, gone }: Waiting,
): Promise<Outcome> {
  for (let outcome = first; ; ) {
    // The end is taken before asking again, so that no outcome falls between.
    const after = await edge.ledger.end()
    if (gone.aborted) return outcome
    outcome = await execute()
    if (!isRunning(outcome) || gaveUp.aborted || edge.draining.aborted) return outcome
    const running = runningCall(outcome)
    const untilLeaseEndsMs = running.leaseUntilMs - edge.now() + PAST_LEASE_MS
    const from = { runId: run, ...(after !== undefined && { after }) }
    await endOfCall(edge.ledger.tail.bind(edge.ledger, caller, from), running.callId, {
      gaveUp,
      atMostMs: Math.max(PAST_LEASE_MS, untilLeaseEndsMs),
    })
  }
}

/** Resolves when an event ends the call, the time is over, or the caller gave up. */
async function endOfCall(
  tail: (signal: AbortSignal) => ReturnType<Ledger['tail']>,
  callId: string,
  { gaveUp, atMostMs }: { gaveUp: AbortSignal; atMostMs: number },
): Promise<void> {
  const over = new AbortController()
  const end = (): void => over.abort()
  const timer = setTimeout(end, atMostMs)
  gaveUp.addEventListener('abort', end)
  try {
    for await (const page of tail(over.signal)) {
      if (page !== 'caught-up' && page.some((event) => endsCall(event, callId))) return
      if (over.signal.aborted) return
    }
  } finally {
    clearTimeout(timer)
    gaveUp.removeEventListener('abort', end)
  }
}

function endsCall({ header, data }: LedgerEvent, callId: string): boolean {
  const call = declarationOf(header.type)?.changes.call
  return data.callId === callId && (call === 'settled' || call === 'in-doubt')
}

function isRunning(outcome: Outcome): outcome is Extract<Outcome, { ok: false }> {
  return !outcome.ok && outcome.refusal.code === 'call-in-progress'
}

function runningCall(outcome: Extract<Outcome, { ok: false }>): { callId: string; leaseUntilMs: number } {
  const { callId, leaseUntil }: JsonObject = outcome.refusal.evidence ?? {}
  const leaseUntilMs = typeof leaseUntil === 'string' ? Date.parse(leaseUntil) : 0
  return { callId: typeof callId === 'string' ? callId : '', leaseUntilMs }
}
