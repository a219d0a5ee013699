/** @module Reads one of the client's streams up to a chosen point, then removes its listeners and cancels it. */
import { CallEndedError, NoAnswerError } from './client-errors.ts'

/** The parts of the client's streams, reads and subscriptions, that are used here: each has one of the last two methods. */
export interface ClientStream {
  on(event: string, listener: (...args: unknown[]) => void): unknown
  once(event: string, listener: (...args: unknown[]) => void): unknown
  off(event: string, listener: (...args: unknown[]) => void): unknown
  pause(): unknown
  readonly readableEnded: boolean
  cancel?(): Promise<void>
  unsubscribe?(): Promise<void>
}

/** Event emitted on a stream that is silent for a good reason. */
export const AT_WORK = 'countersign-at-work'

export interface DrainOptions<T> {
  /** Returns false to stop. */
  readonly onItem: (item: T) => boolean
  /** Maximum silence in milliseconds. */
  readonly idleMs: number
  /** Names of further events that end the stream. */
  readonly endsOn?: readonly string[]
}

/**
 * Resolves at the end, or when `onItem` returns false. Rejects with the stream's error, `NoAnswerError` after too long a silence, or `CallEndedError` if a
 * subscription ends: it has no end of its own, so that what it brought until then may be a part.
 */
export function drain<T>(stream: ClientStream, { onItem, idleMs, endsOn = [] }: DrainOptions<T>): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => finish(new NoAnswerError(idleMs)), idleMs)
    let finished = false
    const finish = (error?: unknown): void => {
      if (finished) return
      finished = true
      clearTimeout(timer)
      stream.off('data', taken)
      stream.pause()
      if (!stream.readableEnded) cancel(stream)
      if (error === undefined) resolve()
      else reject(error)
    }
    const take = (item: T): void => {
      timer.refresh()
      try {
        if (!onItem(item)) finish()
      } catch (error) {
        finish(error)
      }
    }
    const taken = take as (item: unknown) => void
    // Never removed: an error after the end would otherwise have no listener and end the process.
    stream.on('error', finish)
    stream.once('end', () => finish(stream.unsubscribe === undefined ? undefined : new CallEndedError()))
    stream.on(AT_WORK, () => !finished && timer.refresh())
    for (const name of endsOn) stream.once(name, () => finish())
    stream.on('data', taken)
  })
}

/** The client's own cancellation waits for a call that may have failed to start, so it is not awaited. */
export function cancel(stream: ClientStream): void {
  const cancelled = stream.cancel?.() ?? stream.unsubscribe?.()
  cancelled?.catch(() => undefined)
}
