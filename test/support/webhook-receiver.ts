/** @module The receiver of a webhook, on this machine: keeps what it is sent, and answers as a test says. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { JsonObject } from '../../schemas/json.ts'
import { listening } from './listening.ts'

export interface Received {
  readonly id: string
  readonly atSeconds: number
  readonly signatures: string
  readonly text: string
  readonly body: { readonly type: string; readonly timestamp: string; readonly data: JsonObject }
}

export interface Receiver extends AsyncDisposable {
  readonly url: string
  /** In order of arrival, whatever was answered. */
  readonly received: readonly Received[]
  /** 200 to everything by default. */
  answer: (received: Received, response: ServerResponse) => void
}

export async function webhookReceiver(): Promise<Receiver> {
  const received: Received[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => {
      text += chunk
    })
    request.on('end', () => {
      const one = receivedOf(request, text)
      received.push(one)
      receiver.answer(one, response)
    })
  })
  const port = await listening(server)
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}/hooks?key=s3cret`,
    received,
    answer: (_, response) => void response.end(),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
    },
  }
  return receiver
}

function receivedOf({ headers }: IncomingMessage, text: string): Received {
  const [id, time, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map(
    (name) => `${headers[name]}`,
  )
  return {
    id: id ?? '',
    atSeconds: Number(time),
    signatures: signatures ?? '',
    text,
    body: JSON.parse(text) as Received['body'],
  }
}

/** As a receiver checks it that has one of the secrets (`whsec_...`). */
export function isSignedUnder({ id, atSeconds, signatures, text }: Received, secret: string): boolean {
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  const expected = Buffer.from(`v1,${createHmac('sha256', key).update(`${id}.${atSeconds}.${text}`).digest('base64')}`)
  return signatures
    .split(' ')
    .some((each) => each.length === expected.length && timingSafeEqual(Buffer.from(each), expected))
}
