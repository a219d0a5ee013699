/** @module One connection of a tenant that sends one kind of request to the ledger over HTTP, one at a time. */
import { Agent, request } from 'node:http'
import { envelopeOf } from './envelopes.ts'

export const DEEDS = ['read', 'handoff', 'start'] as const
export type Deed = (typeof DEEDS)[number]

interface Place {
  readonly url: string
  readonly token: string
  /** Prefix of the run's name; unique within a process. */
  readonly name: string
}

/** Opens one connection and starts a run for it. Each call of the result sends one request and waits for the answer. */
export async function asker({ url, token, name }: Place, deed: Deed): Promise<() => Promise<void>> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const ask = (method: string, path: string, body?: unknown): Promise<void> =>
    new Promise((resolve, reject) => {
      const text = body === undefined ? '' : JSON.stringify(body)
      const asked = request(url + path, { method, agent, headers }, (answer) => {
        const isRight = answer.statusCode === 200 || answer.statusCode === 201
        answer.resume().on('end', () => (isRight ? resolve() : reject(new Error(`${path}: ${answer.statusCode}`))))
      })
      asked.on('error', reject).end(text)
    })
  const run = `${name}-${crypto.randomUUID()}`.replaceAll(' ', '-')
  await ask('POST', '/v1/runs', { id: run, name: 'bench' })
  let n = 0
  const calls: Readonly<Record<Deed, () => Promise<void>>> = {
    read: () => ask('GET', `/v1/runs/${run}`),
    handoff: () => ask('POST', `/v1/runs/${run}/envelopes`, envelopeOf(n++)),
    start: () => ask('POST', '/v1/runs', { id: `${run}-${n++}`, name: 'bench' }),
  }
  return calls[deed]
}
