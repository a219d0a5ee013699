import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { messageFault } from '../../../src/agent/loop/message-fault.ts'

const test = suite('agent loop: what is a message')
const call = { id: 'a', name: 'b', arguments: { c: [1, null] } }

test('what a model may say has no fault', () => {
  for (const message of [
    { content: null },
    { role: 'assistant' },
    { role: 'assistant', content: null, refusal: undefined },
    { content: 'x', other: () => 1 },
    { toolCalls: [] },
    { toolCalls: [call], usage: { inputTokens: 0, outputTokens: 3 } },
    { toolCalls: [{ ...call, arguments: null }] },
  ])
    assert.is(messageFault(message), undefined)
})

test('a fault names its place', () => {
  const places = [
    [undefined, '/'],
    ['text', '/'],
    [[], '/'],
    [{}, '/'],
    [{ text: 'x' }, '/text'],
    [{ role: 'assistant', content: '', choices: [] }, '/choices'],
    [{ role: 'assistant', content: 'x', tool_calls: [{}] }, '/tool_calls'],
    [{ content: 7 }, '/content'],
    [{ toolCalls: {} }, '/toolCalls'],
    [{ toolCalls: [call, null] }, '/toolCalls/1'],
    [{ toolCalls: [{ ...call, id: 7 }] }, '/toolCalls/0/id'],
    [{ toolCalls: [{ ...call, name: undefined }] }, '/toolCalls/0/name'],
    [{ toolCalls: [{ id: 'a', name: 'b' }] }, '/toolCalls/0/arguments'],
    [{ toolCalls: [{ ...call, arguments: () => 1 }] }, '/toolCalls/0/arguments'],
    [{ toolCalls: [{ ...call, arguments: { big: 1n } }] }, '/toolCalls/0/arguments'],
    [{ usage: null }, '/usage'],
    [{ usage: { inputTokens: 1.5, outputTokens: 1 } }, '/usage/inputTokens'],
    [{ usage: { inputTokens: 1, outputTokens: -1 } }, '/usage/outputTokens'],
  ] as const
  for (const [message, place] of places) assert.is(messageFault(message)?.place, place, JSON.stringify(place))
})

test.run()
