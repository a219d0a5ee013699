/** @module Sends the claims of one tick to the ledger as one ordered batch; claims that arrive meanwhile form the next batch. */
import type { ClaimCall } from '../../../schemas/requests.ts'
import { UnreachableError } from '../../client/errors.ts'
import type { Connection, Reply, TracedCommand } from '../runtime/connection.ts'

interface Waiting {
  readonly body: ClaimCall
  /** Trace context of the call; a batch is sent with that of its first call. */
  readonly traceparent: string | undefined
  readonly resolve: (reply: Reply) => void
  readonly reject: (error: unknown) => void
}

export class ClaimQueue {
  readonly #connection: Connection
  readonly #runId: string
  #waiting: Waiting[] = []
  #sending = false

  constructor(connection: Connection, runId: string) {
    this.#connection = connection
    this.#runId = runId
  }

  claim(body: ClaimCall, traceparent?: string): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ body, traceparent, resolve, reject })
      if (this.#sending) return
      this.#sending = true
      queueMicrotask(() => void this.#sendAll())
    })
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0)
      try {
        const replies = await this.#send(batch)
        for (const [i, { resolve, reject }] of batch.entries()) {
          const reply = replies[i]
          if (reply === undefined) reject(new TypeError('the ledger answered fewer claims than it was sent'))
          else resolve(reply)
        }
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#sending = false
  }

  async #send(waiting: readonly Waiting[]): Promise<readonly Reply[]> {
    const commands = waiting.map(
      ({ body, traceparent }): TracedCommand => ({ command: { kind: 'claim', body }, traceparent }),
    )
    const [first] = commands
    if (first === undefined) return []
    if (commands.length > 1) return this.#connection.batch(this.#runId, commands)
    return [await this.#connection.execute(this.#runId, first.command, { traceparent: first.traceparent })]
  }
}

/** Undefined if the ledger is unreachable. */
export async function unlessUnreachable(ask: () => Promise<Reply>): Promise<Reply | undefined> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof UnreachableError) return undefined
    throw error
  }
}
