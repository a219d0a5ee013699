/**
 * @module Sends an answer that is one text in one piece. Node would end such an answer with two chunks, the second one empty, and pass both to the system as a
 * vector; a write that is ended a moment later is a single chunk, which is cheaper.
 */
import { type IncomingMessage, ServerResponse } from 'node:http'

/** Node encodes a text up to this size without allocating memory. */
const SMALL_CHARS = 8 * 1024

export class WholeAnswer<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  override end(...request: unknown[]): this {
    const [text] = request
    // An answer behind another one on the connection, or without a head, is sent in node's way.
    const isComplete = request.length === 1 && typeof text === 'string' && text !== '' && text.length <= SMALL_CHARS
    if (!isComplete || !this.headersSent || this.chunkedEncoding || this.socket === null || this.writableLength > 0) {
      return super.end(...(request as Parameters<ServerResponse['end']>))
    }
    this.write(text)
    // Runs after the write of this turn, which node schedules the same way.
    process.nextTick(endOf, this)
    return this
  }
}

function endOf(answer: ServerResponse): void {
  answer.end()
}
