/** @module A plain HTTP client over keep-alive connections. It never retries: what a lost answer means is the test's to say. */
import { Pool } from 'undici'
import type { Json, JsonObject } from '../../schemas/json.ts'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  /** The body as JSON; an empty object where it is not valid. */
  readonly body: JsonObject
}

export interface ClientOptions {
  readonly url: string
  readonly token: string
  readonly connections?: number
}

type Headers = Readonly<Record<string, string>>

export class ApiClient {
  readonly url: string
  readonly token: string
  readonly #pool: Pool

  constructor({ url, token, connections = 64 }: ClientOptions) {
    this.url = url
    this.token = token
    this.#pool = new Pool(url, { connections, pipelining: 1, bodyTimeout: 120_000, headersTimeout: 120_000 })
  }

  get(path: string, headers: Headers = {}): Promise<Answer> {
    return this.#send('GET', path, headers)
  }

  post(path: string, body: Json, headers: Headers = {}): Promise<Answer> {
    return this.#send('POST', path, { 'content-type': 'application/json', ...headers }, JSON.stringify(body))
  }

  /** A POST under an Idempotency-Key. */
  postOnce(path: string, key: string, body: Json): Promise<Answer> {
    return this.post(path, body, { 'idempotency-key': key })
  }

  /** The lines of a streamed answer, as they come; throws where it was cut. */
  async *lines(path: string): AsyncGenerator<string, void> {
    const answer = await this.#pool.request({ method: 'GET', path, headers: this.#headers({}) })
    if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode} ${await answer.body.text()}`)
    let rest = ''
    for await (const chunk of answer.body.setEncoding('utf8')) {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      yield* lines
    }
    if (rest !== '') yield rest
  }

  /** Cuts every connection. */
  async close(): Promise<void> {
    await this.#pool.destroy()
  }

  async #send(method: 'GET' | 'POST', path: string, headers: Headers, body?: string): Promise<Answer> {
    const answer = await this.#pool.request({
      method,
      path,
      headers: this.#headers(headers),
      ...(body !== undefined && { body }),
    })
    const text = await answer.body.text()
    return { status: answer.statusCode, headers: answer.headers, text, body: parsed(text) }
  }

  #headers(more: Headers): Record<string, string> {
    return { ...(this.token !== '' && { authorization: `Bearer ${this.token}` }), ...more }
  }
}

function parsed(text: string): JsonObject {
  try {
    return JSON.parse(text) as JsonObject
  } catch {
    return {}
  }
}
