/** @module A replay as lines of JSON, in portions. */

import type { Loss } from '../../schemas/loss.ts'
import type { ReplayLine } from '../ledger/ledger.ts'

/** The events of a run up to a revision. */
export interface ReplayRequest {
  readonly tenant: string
  /** Whose share of the readers' time it takes. */
  readonly caller: string
  readonly run: string
  readonly to: number
  /** What is known to be lost of it. */
  readonly losses?: readonly Loss[]
}

export interface ReplayPortion {
  readonly chunk: Uint8Array
  /** In the last portion: what the replay came to. */
  readonly verdict?: string
  readonly events?: number
}

/** A portion is sent as soon as it has so many characters; 0: every line is one. */
export async function* replayPortions(
  lines: AsyncIterable<ReplayLine>,
  portionChars: number,
): AsyncGenerator<ReplayPortion, void> {
  let text = ''
  for await (const line of lines) {
    text += `${JSON.stringify(line)}\n`
    const { verdict, events } = line
    // The verdict is in the last line.
    const end = typeof verdict === 'string' ? { verdict, events: Number(events) } : undefined
    if (end === undefined && text.length < portionChars) continue
    yield { chunk: Buffer.from(text), ...end }
    text = ''
  }
}
