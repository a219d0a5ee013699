/** @module Claims asked in one tick go to the ledger as one ordered batch; those that come meanwhile make the next one. */
import type { ClaimCall } from '../../../schemas/requests.ts'
import type { Connection, Reply } from '../runtime/connection.ts'

interface Waiting {
  readonly body: ClaimCall
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

  claim(body: ClaimCall): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ body, resolve, reject })
      if (this.#sending) return
      this.#sending = true
      queueMicrotask(() => void this.#sendAll())
    })
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0)
      try {
        const replies = await this.#send(batch.map(({ body }) => body))
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

  async #send(bodies: readonly ClaimCall[]): Promise<readonly Reply[]> {
    const commands = bodies.map((body) => ({ kind: 'claim', body }) as const)
    const [first] = commands
    if (first === undefined) return []
    if (commands.length === 1) return [await this.#connection.execute(this.#runId, first)]
    return this.#connection.batch(this.#runId, commands)
  }
}
