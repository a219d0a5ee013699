import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { captureRig, textOf } from '../support/capture-rig.ts'

const answers = suite('capture: answers')

const result = (text: string) => ({ content: [{ type: 'text', text }] })
const answer = (id: number | string, text: string) => ({ jsonrpc: '2.0', id, result: result(text) })

answers(
  'A630 of two answers under one id the host gets the first, and it is the recorded one, however they come (CAP-61)',
  async () => {
    const seconds = [
      answer(1, 'evil'),
      answer('1', 'evil'),
      { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'evil' } },
      [answer(1, 'evil')],
      { jsonrpc: '2.0', id: 1, method: 'x', result: result('evil') },
      ` {"id":1,"result":{"content":[{"type":"text","text":"evil","n":NaN}]}}\n`,
      `{"id":1,"\\u0072esult":{"text":"evil"},}\n`,
      `\ufeff${JSON.stringify(answer(1, 'evil'))}\n`,
    ]
    for (const second of seconds) {
      await using rig = await captureRig()
      await rig.call(1, 'charge')
      await Promise.all([rig.server(answer(1, 'first')), rig.server(second)])
      await rig.relay.settled()
      assert.is(rig.toHost.length, 1, JSON.stringify(second))
      assert.match(rig.toHost[0] ?? '', 'first')
      assert.equal((await rig.recorded())[0]?.result, result('first'))
    }
  },
)

answers('A630 an answer that comes before its call was forwarded is not passed on (CAP-61)', async () => {
  await using rig = await captureRig()
  const called = rig.call(1, 'charge')
  await rig.server(answer(1, 'early'))
  await called
  await rig.relay.forwarded()
  await rig.server(answer(1, 'true'))
  await rig.relay.settled()
  assert.is(rig.toHost.join(''), `${JSON.stringify(answer(1, 'true'))}\n`)
})

answers(
  'A631 an answer under the text "1" answers the request 1, since hosts take it, and no other (CAP-61)',
  async () => {
    await using rig = await captureRig()
    await rig.call(1, 'charge')
    for (const id of ['1.0', ' 1', '01', '1e0', '0x1']) await rig.server(answer(id, 'evil'))
    assert.is(rig.toHost.length, 0)
    await rig.server(answer('1', 'done'))
    await rig.relay.settled()
    assert.is(rig.toHost.length, 1)
    assert.equal((await rig.recorded())[0]?.result, result('done'))
    await rig.host({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'a' } })
    await rig.host({ jsonrpc: '2.0', id: '2', method: 'tools/call', params: { name: 'b' } })
    await rig.relay.forwarded()
    await rig.server(answer('2', 'of b'))
    await rig.relay.settled()
    const [, a, b] = await rig.recorded()
    assert.equal([a?.status, b?.status], ['claimed', 'succeeded'], 'the exact id goes first')
  },
)

answers(
  'A632 an answer that hosts may read in different ways is not passed on, and its call is in doubt (CAP-61)',
  async () => {
    const odd = [
      { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'benign' }, result: result('evil') },
      { jsonrpc: '2.0', id: 1, method: 'x', result: result('evil') },
      { jsonrpc: '2.0', id: 1 },
      [answer(1, 'benign'), answer(1, 'evil')],
      [answer(1, 'benign'), answer(7, 'evil')],
    ]
    for (const each of odd) {
      await using rig = await captureRig()
      await rig.call(1, 'charge')
      await rig.server(each)
      await rig.relay.settled()
      assert.is((await rig.recorded())[0]?.status, 'in-doubt', JSON.stringify(each))
      assert.match(textOf(await rig.answered(1)), /not known/)
      assert.not.match(rig.toHost.join(''), /evil/)
    }
  },
)

answers(
  'an answer to a request that is no call passes once as well, and the server may ask (CAP-1, CAP-61)',
  async () => {
    await using rig = await captureRig()
    await rig.host('[{"id":1,"method":"ping"},{"id":"a","method":"prompts/list"}]\n')
    await rig.server('{"id":1,"result":{}}\n')
    await rig.server('{"id":"a" ,"result":{}}\n')
    await rig.server('{"id":"a","result":{"x":1}}\n')
    await rig.server('{"id":1,"method":"sampling/createMessage"}\n')
    await rig.server('{"id":null,"error":{"code":-32700,"message":"?"}}\n')
    await rig.server('error: no id {\n')
    await rig.server('starting\n')
    assert.equal(rig.toHost, [
      '{"id":1,"result":{}}\n',
      '{"id":"a" ,"result":{}}\n',
      '{"id":1,"method":"sampling/createMessage"}\n',
      '{"id":null,"error":{"code":-32700,"message":"?"}}\n',
      'starting\n',
    ])
  },
)

answers('the same bytes pass again, as a resumed stream brings them (CAP-45, CAP-61)', async () => {
  await using rig = await captureRig()
  await rig.call(1, 'charge')
  for (const text of ['done', 'done', 'evil']) {
    await rig.server(answer(1, text))
    await rig.relay.settled()
  }
  assert.equal(rig.toHost, Array(2).fill(`${JSON.stringify(answer(1, 'done'))}\n`))
})

answers('two requests under one id are not under way at once if one is a call (CAP-2)', async () => {
  await using rig = await captureRig()
  await rig.call(1, 'a')
  await rig.host({ jsonrpc: '2.0', id: 1, method: 'ping' })
  await rig.host({ jsonrpc: '2.0', id: 2, method: 'ping' })
  await rig.host({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'b' } })
  await rig.relay.forwarded()
  assert.equal(
    rig.toServer.map((line) => JSON.parse(line).method),
    ['tools/call', 'ping'],
  )
  assert.is(rig.toHost.length, 2)
})

answers(
  'A637 an answer that a record cannot repeat exactly is relayed, and recorded as not recorded (CAP-63)',
  async () => {
    const odd = [
      '{"id":1,"result":{"order":12345678901234567890}}\n',
      '{"id":1,"result":{"a":1,"a":2}}\n',
      '{"id":1,"result":{"n":NaN}}\n',
    ]
    for (const line of odd) {
      await using rig = await captureRig({ effects: { order: { effect: 'once', price: PRICE } } })
      await rig.call(1, 'order')
      await rig.server(line)
      await rig.relay.settled()
      assert.equal(rig.toHost, [line])
      const [call] = await rig.recorded()
      assert.is(call?.status, 'succeeded')
      assert.match(JSON.stringify(call?.unrecorded ?? call), /cannot be recorded exactly/)
      assert.is(call?.result ?? null, null)
      await rig.call(2, 'order')
      assert.is(rig.toServer.length, 2, 'it has an outcome: an equal call may run')
    }
  },
)

const PRICE = { cost: '0.01', currency: 'USD' }

answers(
  'A638 a secret of the environment is recorded neither as a tool, a key, nor a definition (CAP-11)',
  async () => {
    const secrets = [['API_KEY', 'hunter2hunter2']] as const
    await using rig = await captureRig({ secrets })
    await rig.host({ jsonrpc: '2.0', id: 8, method: 'tools/list' })
    await rig.server({ jsonrpc: '2.0', id: 8, result: { tools: [{ name: 'x-hunter2hunter2' }] } })
    await rig.call(1, 'hunter2hunter2', {}, { 'dev.countersign/call-key': 'k hunter2hunter2' })
    await rig.server({ jsonrpc: '2.0', id: 1, error: { code: 1, message: 'no tool hunter2hunter2' } })
    await rig.relay.settled()
    assert.match(rig.toServer.join(''), /hunter2/)
    const events: unknown[] = []
    for await (const event of rig.client.events(rig.run.id)) events.push(event)
    assert.match(JSON.stringify(events), /secret of the environment: API_KEY/)
    assert.not.match(JSON.stringify(events), /hunter2/)
  },
)

answers.run()
