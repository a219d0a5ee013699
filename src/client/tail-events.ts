/** @module A tail over HTTP: the history, then new events; a broken connection is resumed after the last event that was delivered. */

import { type JsonObject, parseJson } from '../../schemas/json.ts'
import { UnreachableError } from './errors.ts'
import { frames } from './sse-frames.ts'
import { pause, type Transport } from './transport.ts'

/** Delay before a broken connection is resumed. */
const AGAIN_MS = 1_000

/** Ends with the signal, or when the reader stops. Throws `LedgerError`, and `UnreachableError` if there is no answer at all. */
export async function* tailEvents(
  transport: Transport,
  path: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<JsonObject, void> {
  let lastId: string | undefined
  while (!isOver(signal)) {
    let answered = false
    const from = lastId === undefined ? path : `${path}?after=${encodeURIComponent(lastId)}`
    try {
      for await (const frame of frames(transport.text({ method: 'GET', path: from, signal }))) {
        answered = true
        const record = frame.data === undefined ? undefined : recordIn(frame.data)
        if (record !== undefined) yield record
        // Set only after the event was delivered, so that an event its reader did not take is sent again.
        if (frame.id !== undefined) lastId = frame.id
      }
    } catch (error) {
      if (isOver(signal)) return
      if (!answered || !(error instanceof UnreachableError)) throw error
    }
    await pause(AGAIN_MS, signal).catch(() => undefined)
  }
}

function isOver(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true
}

/** Frames without an event report the position of the tail. */
function recordIn(data: string): JsonObject | undefined {
  const record = parseJson(data) as JsonObject
  return typeof record.header === 'object' ? record : undefined
}
