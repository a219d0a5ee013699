/** @module One attempt of a call: runs a tool with a timeout and classifies the outcome. */
import { linkedSignal, onAbort } from '../../resources/linked-signal.ts'
import { OutcomeUnknown } from '../errors.ts'
import { ToolTimedOut } from '../loop/tool-error.ts'
import { readable, thrownReason } from '../thrown.ts'
import type { CallContext } from './tool-options.ts'

export type Attempted =
  | { readonly kind: 'succeeded'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly error: unknown }
  /** Timed out, aborted, or reported by the tool. JavaScript cannot stop code that is running. */
  | { readonly kind: 'unknown'; readonly error: unknown; readonly reason: string }

export interface AttemptOptions {
  readonly context: Omit<CallContext, 'signal'>
  readonly timeoutMs: number | undefined
  /** An abort of this signal ends the attempt at once, with an unknown outcome. */
  readonly signal: AbortSignal | undefined
  /** This signal is only passed to the tool, which ends by itself; its outcome counts. */
  readonly notice?: AbortSignal | undefined
  /** Whether the tool has a compensation. */
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
    // A tool that was cut off may have done its work; if it has a compensation, this must not be taken for a failure.
    const cutOff = notice?.aborted === true && isUndone === true && isAbort(error, notice)
    return cutOff || error instanceof OutcomeUnknown ? unknown(error) : { kind: 'failed', error }
  } finally {
    clearTimeout(timer)
    leave?.()
  }
}

/** The outcome of a call without effects: an unknown outcome counts as a failure. */
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
