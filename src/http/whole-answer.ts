/**
 * @module An answer that is one text leaves in one piece. Node ends such an answer with two, of which the second is empty, and hands both to the system
 * as a vector; written first and ended a moment later it is one, which is cheaper.
 */
import { type IncomingMessage, ServerResponse } from 'node:http'

/** What node encodes without taking memory for it. */
const SMALL_CHARS = 8 * 1024

export class WholeAnswer<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  override end(...request: unknown[]): this {
    const [text] = request
    // Behind another answer on the connection, or without its head, it goes node's way.
    const isComplete = request.length === 1 && typeof text === 'string' && text !== '' && text.length <= SMALL_CHARS
    if (!isComplete || !this.headersSent || this.chunkedEncoding || this.socket === null || this.writableLength > 0) {
      return super.end(...(request as Parameters<ServerResponse['end']>))
    }
    this.write(text)
    // Behind the turn's write, which node plans the same way.
    process.nextTick(endOf, this)
    return this
  }
}

function endOf(answer: ServerResponse): void {
  answer.end()
}
