/** @module Waiting while another process holds the lease of a call, with regular notices. */
import { pause } from '../../client/transport.ts'
import { tell } from './tell.ts'

/** The call that is waited for, and the time waited so far. */
export interface WaitNotice {
  readonly runId: string
  readonly tool: string
  /** Id of the call, if the ledger returns it. */
  readonly callId: string
  readonly waitedMs: number
  /** Milliseconds until the lease expires unless it is renewed, as far as the ledger reports it. */
  readonly retryAfterMs: number
}

export type OnWait = (notice: WaitNotice) => void

const FIRST_WORD_MS = 1_000
const NEXT_WORD_MS = 60_000
const WAIT_DEFAULT_MS = 1_000

/** The default notice: a process warning with code `COUNTERSIGN_WAITING`. */
export function warnOfWait({ runId, tool, callId, waitedMs, retryAfterMs }: WaitNotice): void {
  const seconds = Math.round(waitedMs / 1_000)
  const message = `run ${runId}: ${tool} waits for another owner of call ${callId} (${seconds} s so far, looking again in ${Math.round(retryAfterMs)} ms); where that process is gone, resume with whenOwned: 'take-over'`
  process.emitWarning(message, { code: 'COUNTERSIGN_WAITING' })
}

export class OwnerWait {
  readonly #call: Pick<WaitNotice, 'runId' | 'tool'>
  readonly #onWait: OnWait
  #waitedMs = 0
  #wordAtMs = FIRST_WORD_MS

  constructor(call: Pick<WaitNotice, 'runId' | 'tool'>, onWait: OnWait) {
    this.#call = call
    this.#onWait = onWait
  }

  /** Waits until the next retry is due. Rejects if the signal is aborted. */
  async again(callId: string, retryAfterMs = WAIT_DEFAULT_MS, signal?: AbortSignal): Promise<void> {
    if (this.#waitedMs + retryAfterMs >= this.#wordAtMs) {
      tell('onWait', this.#onWait, { ...this.#call, callId, waitedMs: this.#waitedMs, retryAfterMs })
      this.#wordAtMs = this.#waitedMs + retryAfterMs + NEXT_WORD_MS
    }
    await pause(retryAfterMs, signal)
    this.#waitedMs += retryAfterMs
  }
}
