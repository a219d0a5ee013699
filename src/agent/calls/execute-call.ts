/** @module One attempt: runs a tool under a time limit, and says what came of it. */
import { linkedSignal, onAbort } from '../../resources/linked-signal.ts'
import { OutcomeUnknown } from '../errors.ts'
import { ToolTimedOut } from '../loop/tool-error.ts'
import { readable, thrownReason } from '../thrown.ts'
import type { CallContext } from './tool-options.ts'

export type Attempted =
  | { readonly kind: 'succeeded'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** Timed out, aborted, or the tool reported it: JavaScript cannot stop what it has started. */
  | { readonly kind: 'unknown'; readonly error: unknown; readonly reason: string }

export interface AttemptOptions {
  readonly context: Omit<CallContext, 'signal'>
  readonly timeoutMs: number | undefined
  /** Ends the attempt at once: what came of it is not known. */
  readonly signal: AbortSignal | undefined
  /** Passed to the tool alone, which then ends by itself: its outcome counts. */
  readonly notice?: AbortSignal | undefined
  /** Something undoes the tool. */
  readonly isUndone?: boolean
  readonly run: (context: CallContext) => unknown
}

const REASON_MAX_CHARS = 1_000

export async function executeCall({
  context,
  timeoutMs,
  signal,
  notice,
  isUndone,
  run,
}: AttemptOptions): Promise<Attempted> {
  const ending = new AbortController()
  const timer =
    timeoutMs === undefined
      ? undefined
      : setTimeout(() => ending.abort(new DOMException(`no outcome after ${timeoutMs} ms`, 'TimeoutError')), timeoutMs)
  if (signal?.aborted === true) ending.abort(signal.reason)
  const leave = signal === undefined || signal.aborted ? undefined : onAbort(signal, (reason) => ending.abort(reason))
  try {
    const reported = notice === undefined ? ending.signal : linkedSignal(ending.signal, notice)
    const value = await Promise.race([tried(() => run({ ...context, signal: reported })), aborted(ending.signal)])
    return { kind: 'succeeded', value }
  } catch (thrown) {
    const error = readable(thrown)
    if (ending.signal.aborted) return unknown(ending.signal.reason)
    // Cut off in the middle, it may have done its work: where something would undo that, nobody may take it for a failure.
    const cutOff = notice?.aborted === true && isUndone === true && isAbort(error, notice)
    return cutOff || error instanceof OutcomeUnknown ? unknown(error) : { kind: 'failed', error }
  } finally {
    clearTimeout(timer)
    leave?.()
  }
}

/** What came of a call that changes nothing: where nobody knows it, it has failed. */
export function withoutEffects(tool: string, attempted: Attempted): Attempted {
  if (attempted.kind !== 'unknown') return attempted
  const { error } = attempted
  const isLate = error instanceof DOMException && error.name === 'TimeoutError'
  return { kind: 'failed', error: isLate ? ToolTimedOut.of(tool, error) : error }
}

function isAbort(error: unknown, { reason }: AbortSignal): boolean {
  return error === reason || (error instanceof Error && error.name === 'AbortError')
}

async function tried(run: () => unknown): Promise<unknown> {
  return run()
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason)
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

function unknown(error: unknown): Attempted {
  const reason = thrownReason(error)
  return { kind: 'unknown', error, reason: reason.slice(0, REASON_MAX_CHARS) }
}
