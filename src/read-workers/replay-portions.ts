/** @module A replay as lines of JSON, in portions. */

import type { Loss } from '../../schemas/loss.ts'
import type { ReplayLine } from '../ledger/ledger.ts'

/** The events of a run up to a revision. */
export interface ReplayRequest {
  readonly tenant: string
  /** The caller whose share of the readers' time is used. */
  readonly caller: string
  readonly run: string
  readonly to: number
  /** Known losses of the run. */
  readonly losses?: readonly Loss[]
}

export interface ReplayPortion {
  readonly chunk: Uint8Array
  /** Only in the last portion: the verdict of the replay. */
  readonly verdict?: string
  readonly events?: number
}

/** A portion is sent as soon as it has this many characters; with 0, every line is a portion. */
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
