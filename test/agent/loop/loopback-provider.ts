/**
 * @module Providers of models at a port of this machine, in the wire formats of OpenAI (chat completions) and Anthropic (messages), whole and streamed. What they
 * say is a function of what they were sent. Now and then they are busy, refuse, or lose an answer, and all that they answered is on a bill.
 */
import { createHash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { JsonObject } from '../../../schemas/json.ts'
import { listening } from '../../support/listening.ts'
import { answerTo, type Turn } from './client-loops.ts'

export interface Account {
  readonly turns: number
  /** Some conversations are refused for good (400). */
  readonly refuses?: boolean
  /** Some streams break amid, the first time that they are asked for. */
  readonly breaks?: boolean
}

export interface Bill {
  /** Digest of the conversation that was answered. */
  readonly request: string
  readonly tokens: number
  /** The connection was cut by the provider before the answer was whole. */
  readonly isCut: boolean
}

/** What happens to a request, in order; `half` to streams alone. */
export type Moment = 'asked' | 'half' | 'answered'

export interface Loopback extends AsyncDisposable {
  readonly url: string
  /** Opens an account; its key is the API key of clients. */
  readonly open: (key: string, account: Account) => readonly Bill[]
  /** Called at each moment of each request. */
  onMoment: (moment: Moment) => void
}

interface Asked {
  readonly turn: Turn
  readonly digest: Buffer
  readonly isStream: boolean
  readonly withUsage: boolean
  readonly input: number
  readonly output: number
}

const WORD = /\S+\s*/g

export async function loopbackProvider(): Promise<Loopback> {
  const accounts = new Map<string, { readonly account: Account; readonly bills: Bill[]; readonly met: Set<string> }>()
  const server = createServer((request, response) => {
    answered(request, response).catch((error: unknown) => response.destroy(error as Error))
  })
  const answered = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const format = request.url?.endsWith('/messages') === true ? ANTHROPIC : OPENAI
    const key = request.headers.authorization?.replace('Bearer ', '') ?? String(request.headers['x-api-key'])
    const found = accounts.get(key)
    const body = JSON.parse(await text(request)) as JsonObject
    if (found === undefined) throw new TypeError(`no account has the key ${key}`)
    const { account, bills, met } = found
    const asked = askedIn(body, account)
    const name = asked.digest.toString('hex')
    const isFirst = !met.has(name)
    met.add(name)
    loopback.onMoment('asked')
    const fault = faultOf(asked, account, isFirst)
    if (typeof fault === 'number') return refuse(response, fault, format.problem(fault))
    bills.push({ request: name, tokens: asked.input + asked.output, isCut: fault !== undefined })
    if (fault === 'lost') {
      response.destroy()
      return
    }
    if (asked.isStream) await stream(response, format.stream(asked), fault === 'breaks')
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(format.whole(asked)))
    loopback.onMoment('answered')
  }
  const stream = async (response: ServerResponse, events: readonly string[], breaks: boolean): Promise<void> => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const [i, event] of events.entries()) {
      if (i === Math.floor(events.length / 2)) {
        loopback.onMoment('half')
        await new Promise((go) => setImmediate(go))
        if (breaks) {
          response.destroy()
          return
        }
      }
      response.write(event)
    }
    response.end()
  }
  const port = await listening(server)
  const loopback: Loopback = {
    url: `http://127.0.0.1:${port}`,
    open: (key, account) => {
      const bills: Bill[] = []
      accounts.set(key, { account, bills, met: new Set() })
      return bills
    },
    onMoment: () => undefined,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
  return loopback
}

function askedIn(body: JsonObject, { turns }: Account): Asked {
  const messages = body.messages as readonly JsonObject[]
  const turn = messages.filter(({ role }) => role === 'assistant').length
  const digest = createHash('sha256')
    .update(`asked ${JSON.stringify(messages)}`)
    .digest()
  return {
    turn: answerTo(messages, turns, turn),
    digest,
    isStream: body.stream === true,
    withUsage: (body.stream_options as JsonObject | undefined)?.include_usage === true,
    input: 10 * messages.length,
    output: 7 + ((digest[7] ?? 0) % 20),
  }
}

const TOO_MANY = 429
const BROKEN = 500
const INVALID = 400

/** A status to answer with, or how the answer is lost. */
function faultOf(
  { digest, isStream }: Asked,
  { refuses = false, breaks = false }: Account,
  isFirst: boolean,
): number | 'lost' | 'breaks' | undefined {
  if (refuses && (digest[6] ?? 0) % 9 === 0) return INVALID
  if (!isFirst) return undefined
  const kind = (digest[5] ?? 0) % 10
  if (kind === 0) return TOO_MANY
  if (kind === 1) return BROKEN
  if (kind === 2) return 'lost'
  return kind === 3 && breaks && isStream ? 'breaks' : undefined
}

function refuse(response: ServerResponse, status: number, problem: object): void {
  const headers = { 'content-type': 'application/json', ...(status === TOO_MANY && { 'retry-after-ms': '5' }) }
  response.writeHead(status, headers).end(JSON.stringify(problem))
}

interface Format {
  readonly whole: (asked: Asked) => object
  readonly stream: (asked: Asked) => readonly string[]
  readonly problem: (status: number) => object
}

const sent = (data: object | string, event?: string): string =>
  `${event === undefined ? '' : `event: ${event}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`

/** A text in two pieces, so that a reader has to join them. */
const halves = (whole: string): readonly string[] => [whole.slice(0, whole.length / 2), whole.slice(whole.length / 2)]

/** https://platform.openai.com/docs/api-reference/chat */
const OPENAI: Format = {
  whole: (asked) => {
    const { turn } = asked
    const tool_calls = turn.calls.map(({ id, name, args }) => ({
      id,
      type: 'function',
      function: { name, arguments: JSON.stringify(args) },
    }))
    const message = {
      role: 'assistant',
      content: turn.text,
      refusal: null,
      annotations: [],
      ...(tool_calls.length > 0 && { tool_calls }),
    }
    const choices = [{ index: 0, message, logprobs: null, finish_reason: finished(turn) }]
    return { ...envelope(), object: 'chat.completion', choices, usage: chatUsage(asked) }
  },
  stream: (asked) => {
    const { turn, withUsage } = asked
    const base = { ...envelope(), object: 'chat.completion.chunk' }
    const chunk = (delta: object, finish_reason: string | null = null): string =>
      sent({
        ...base,
        choices: [{ index: 0, delta, logprobs: null, finish_reason }],
        ...(withUsage && { usage: null }),
      })
    const calls = turn.calls.flatMap(({ id, name, args }, index) => [
      chunk({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] }),
      ...halves(JSON.stringify(args)).map((part) => chunk({ tool_calls: [{ index, function: { arguments: part } }] })),
    ])
    return [
      chunk({ role: 'assistant', content: '', refusal: null }),
      ...(turn.text.match(WORD) ?? []).map((content) => chunk({ content })),
      ...calls,
      chunk({}, finished(turn)),
      ...(withUsage ? [sent({ ...base, choices: [], usage: chatUsage(asked) })] : []),
      sent('[DONE]'),
    ]
  },
  problem: (status) => ({
    error: {
      message: `it is ${status}`,
      type: status === INVALID ? 'invalid_request_error' : 'server_error',
      param: null,
      code: status === INVALID ? 'content_filter' : null,
    },
  }),
}

const envelope = () => ({
  id: `chatcmpl-${randomUUID()}`,
  created: Math.floor(Date.now() / 1000),
  model: 'm',
  system_fingerprint: 'fp_1',
})
const finished = ({ calls }: Turn): string => (calls.length > 0 ? 'tool_calls' : 'stop')

function chatUsage({ input, output }: Asked): object {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    completion_tokens_details: { reasoning_tokens: 0 },
  }
}

/** https://docs.anthropic.com/en/api/messages */
const ANTHROPIC: Format = {
  whole: (asked) => {
    const { turn, input, output } = asked
    const uses = turn.calls.map(({ id, name, args }) => ({ type: 'tool_use', id, name, input: args }))
    const content = [{ type: 'text', text: turn.text, citations: null }, ...uses]
    return { ...message(), content, stop_reason: stopped(turn), usage: { input_tokens: input, output_tokens: output } }
  },
  stream: ({ turn, input, output }) => {
    const event = (type: string, more: object): string => sent({ type, ...more }, type)
    const block = (index: number, content_block: object, deltas: readonly object[]): readonly string[] => [
      event('content_block_start', { index, content_block }),
      ...deltas.map((delta) => event('content_block_delta', { index, delta })),
      event('content_block_stop', { index }),
    ]
    const words = (turn.text.match(WORD) ?? []).map((word) => ({ type: 'text_delta', text: word }))
    return [
      event('message_start', {
        message: { ...message(), content: [], stop_reason: null, usage: { input_tokens: input, output_tokens: 1 } },
      }),
      ...block(0, { type: 'text', text: '' }, words),
      ...turn.calls.flatMap(({ id, name, args }, i) =>
        block(
          i + 1,
          { type: 'tool_use', id, name, input: {} },
          halves(JSON.stringify(args)).map((partial_json) => ({ type: 'input_json_delta', partial_json })),
        ),
      ),
      event('message_delta', {
        delta: { stop_reason: stopped(turn), stop_sequence: null },
        usage: { output_tokens: output },
      }),
      event('message_stop', {}),
    ]
  },
  problem: (status) => ({
    type: 'error',
    error: { type: status === INVALID ? 'invalid_request_error' : 'api_error', message: `it is ${status}` },
  }),
}

const message = () => ({
  id: `msg_${randomUUID()}`,
  type: 'message',
  role: 'assistant',
  model: 'm',
  stop_sequence: null,
})
const stopped = ({ calls }: Turn): string => (calls.length > 0 ? 'tool_use' : 'end_turn')
