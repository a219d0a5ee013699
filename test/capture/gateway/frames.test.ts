import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { isJsonObject, type Json, type JsonObject } from '../../../schemas/json.ts'
import { sseData } from '../../../src/agent/models/sse-data.ts'
import { AnswerReader } from '../../../src/capture/gateway/answer-reader.ts'
import { dataOf, FrameCutter } from '../../../src/capture/gateway/frames.ts'
import { mayUse, parseGatewayFile } from '../../../src/capture/gateway/gateway-file.ts'
import { PROVIDERS } from '../../../src/capture/gateway/provider.ts'
import { withMember } from '../../../src/capture/gateway/with-member.ts'

const frames = suite('capture: frames of the gateway')

const lineEnd = fc.constantFrom('\n', '\r\n', '\r')
const line = fc.oneof(
  fc.string({ maxLength: 6 }).map((text) => `data: ${text.replaceAll(/[\r\n]/g, 'é')}`),
  fc.constantFrom('data', 'data:x', ': comment', 'event: message_stop', 'id: 1', ''),
)
const stream = fc.array(fc.tuple(line, lineEnd), { maxLength: 12 }).map((lines) => Buffer.from(lines.flat().join('')))
const places = fc.array(fc.nat(80), { maxLength: 8 })

function cut(bytes: Uint8Array, at: readonly number[]): Uint8Array[] {
  const edges = [0, ...at.filter((place) => place < bytes.length).sort((a, b) => a - b), bytes.length]
  return edges.slice(1).map((to, i) => bytes.subarray(edges[i], to))
}

async function* portions(parts: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* parts
}

frames(
  'frames are told apart wherever bytes are cut: together they are the bytes, and they say what another reader reads (CAP-21)',
  async () => {
    await fc.assert(
      fc.asyncProperty(stream, places, async (bytes, at) => {
        const cutter = new FrameCutter()
        const whole = cut(bytes, at).flatMap((part) => cutter.push(part))
        const rest = cutter.end()
        assert.equal(Buffer.concat([...whole, rest]), bytes)
        const read: string[] = []
        for await (const data of sseData(portions([bytes]))) read.push(data)
        const ours = [...whole, rest].flatMap((frame) => dataOf(frame) ?? [])
        // Behind the last empty line the other reader gives nothing.
        assert.equal(ours.slice(0, read.length), read)
        assert.ok(ours.length <= read.length + 1)
      }),
      { seed: 1, numRuns: 300 },
    )
  },
)

frames('the frame of the usage alone is kept back, whatever the cut and the line ends (CAP-21)', () => {
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
  const texts = [
    JSON.stringify({ choices: [{ index: 0, delta: { content: 'é' }, finish_reason: 'stop' }], usage: null }),
    JSON.stringify({ choices: [], usage }),
    '[DONE]',
  ]
  fc.assert(
    fc.property(lineEnd, places, fc.boolean(), (end, at, isLast) => {
      const frame = (text: string): string => `data: ${text}${end}${end}`
      const sent = isLast ? texts.slice(0, 2) : texts
      const reader = new AnswerReader({ provider: PROVIDERS.openai, request: { stream: true }, hidesUsage: true })
      const shown = cut(Buffer.from(sent.map(frame).join('')), at).flatMap((part) => [...reader.push(part)])
      const expected = sent
        .filter((_, i) => i !== 1)
        .map(frame)
        .join('')
      assert.is(Buffer.concat([...shown, ...reader.end()]).toString(), expected)
      assert.equal(reader.reported(), { inputTokens: 3, outputTokens: 2 })
      assert.is(reader.isEnded, !isLast)
      assert.is(reader.isFinished, true)
    }),
    { seed: 1, numRuns: 200 },
  )
})

frames('behind what is kept, usage is counted on and read all the same', () => {
  const reader = new AnswerReader({ provider: PROVIDERS.openai, request: {}, hidesUsage: false, keptChars: 120 })
  const say = (chunk: Json): void => void reader.push(Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`))
  for (let i = 0; i < 4; i += 1) say({ choices: [{ index: 0, delta: { content: 'four' } }] })
  assert.is(reader.isComplete, false)
  assert.is(reader.counted(7).outputTokens, 8)
  say({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 4 } })
  assert.is(reader.reported()?.outputTokens, 4)
  assert.ok(reader.chunks.length < 4)
})

frames('one member is set in the text of a request, and every other byte stays (CAP-21)', () => {
  const options = { stream_options: { include_usage: true } }
  fc.assert(
    fc.property(
      fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 2 })),
      fc.nat(2),
      fc.boolean(),
      (body, indent, had) => {
        const object = {
          ...body,
          ...(had && { stream_options: { include_obfuscation: false } }),
          last: '}",{',
        } as JsonObject
        const text = JSON.stringify(object, undefined, indent)
        const now = withMember(text, object, 'stream_options', options.stream_options)
        const was = isJsonObject(object.stream_options ?? null) ? (object.stream_options as JsonObject) : {}
        assert.equal(
          JSON.parse(now),
          JSON.parse(JSON.stringify({ ...object, stream_options: { ...was, ...options.stream_options } })),
        )
        if (!('stream_options' in object)) assert.ok(now.endsWith(text.slice(1)))
      },
    ),
    { seed: 1, numRuns: 200 },
  )
  assert.is(withMember('{}', {}, 'a', {}), '{"a":{}}')
  assert.is(
    withMember('{"stream_options" : null , "b":1}', { stream_options: null, b: 1 }, 'stream_options', { c: 1 }),
    '{"stream_options" :{"c":1} , "b":1}',
  )
})

frames('the file of the gateway says what is wrong with it, and which key may use which model (CAP-27)', () => {
  const upstreams = { openai: { url: 'https://api.openai.com/v1', key: { env: 'K' } } }
  const wrong = (file: object | string): string => {
    const parsed = parseGatewayFile(typeof file === 'string' ? file : JSON.stringify(file))
    return parsed.ok ? 'taken' : parsed.message
  }
  assert.is(wrong({ upstreams }), 'taken')
  assert.match(wrong('{'), 'no JSON')
  assert.match(wrong({ upstreams: {} }), '/upstreams')
  assert.match(
    wrong({ upstreams: { openai: { url: 'https://a/v1', key: 'sk-in-the-file' } } }),
    '/upstreams/openai/key',
  )
  assert.match(wrong({ upstreams, prices: { currency: 'USD', models: { m: { input: 'x', output: '1' } } } }), '/prices')
  const rules = [
    { subject: 'alice', models: ['gpt-5*'] },
    { agent: 'writer', models: ['claude-1'] },
  ]
  const alice = { tenant: 't', subject: 'alice' }
  assert.is(mayUse(undefined, alice, 'any'), true)
  assert.is(mayUse(rules, alice, 'gpt-5-mini'), true)
  assert.is(mayUse(rules, alice, 'claude-1'), false)
  assert.is(mayUse(rules, { ...alice, agent: 'writer' }, 'claude-1'), true)
})

frames.run()
