import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json } from '../../../schemas/json.ts'
import { packChunks, unpackChunks } from '../../../src/agent/models/packed-chunks.ts'
import { redactChunks, textIn } from '../../../src/agent/models/stream-texts.ts'

const chunks = suite('chunks of a stream')

const json = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as Json)
const delta = (content: string, index = 0, more: object = {}): Json => ({
  id: 'c-1',
  choices: [{ index, delta: { content }, finish_reason: null }],
  ...more,
})

chunks('packed and unpacked are what they were, whatever they are', () => {
  const words = fc.array(fc.string(), { maxLength: 20 }).map((texts) => texts.map((text, i) => delta(text, i % 2)))
  fc.assert(
    fc.property(
      fc.oneof(
        fc.array(json),
        words,
        fc.tuple(words, fc.array(json)).map((both) => both.flat()),
      ),
      (all) => {
        assert.equal(unpackChunks(JSON.parse(JSON.stringify(packChunks(all)))), all)
      },
    ),
  )
})

chunks('a member named __proto__ stays one', () => {
  const all = ['a', 'b'].map((text) => JSON.parse(`{"__proto__": {"x": "${text}"}}`) as Json)
  assert.is(JSON.stringify(unpackChunks(packChunks(all))), JSON.stringify(all))
})

chunks('a long answer takes little more than its text', () => {
  const all = Array.from({ length: 1_000 }, (_, i) => delta(`word${i} `))
  const packedBytes = JSON.stringify(packChunks(all)).length
  assert.ok(packedBytes < textIn(all).length * 2, `${packedBytes} bytes`)
})

chunks('what is to go goes also where it lies across pieces, of each choice by itself', () => {
  const redact = (value: Json): Json => JSON.parse(JSON.stringify(value).replaceAll('CANARY', '***')) as Json
  const all = [delta('my CAN'), delta('CANA', 1), delta('ARY is'), delta('RY', 1), delta(' here'), delta('fine', 2)]
  const redacted = redactChunks(all, redact)
  assert.not.match(textIn(redacted), /CAN|ARY/)
  assert.equal(redacted, [
    delta('my *** is here'),
    delta('***', 1),
    delta(''),
    delta('', 1),
    delta(''),
    delta('fine', 2),
  ])
  const kept = [delta('noth'), delta('ing')]
  assert.equal(redactChunks(kept, redact), kept)
})

chunks.run()
