/** @module A tail over HTTP: history, then what comes; a line that breaks is taken up again behind the last event that was seen. */

import { type JsonObject, parseJson } from '../../schemas/json.ts'
import { UnreachableError } from './errors.ts'
import { frames } from './sse-frames.ts'
import { pause, type Transport } from './transport.ts'

/** A line that broke is taken up again after this long. */
const AGAIN_MS = 1_000

/** Ends with the signal, or when its reader leaves. Throws `LedgerError`, and `UnreachableError` where nobody answers at all. */
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
        // Behind the event: one that its reader did not take comes again.
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

/** Other frames say where the tail stands. */
function recordIn(data: string): JsonObject | undefined {
  const record = parseJson(data) as JsonObject
  return typeof record.header === 'object' ? record : undefined
}
