import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { readHostLine, readServerLine } from '../../src/capture/json-rpc.ts'
import { testSeed } from '../support/random.ts'

const rpc = suite('capture: json-rpc')

const kindOf = (text: string | Buffer): string => readHostLine(Buffer.from(text)).kind

rpc('a call is read with its id, tool, arguments and key', () => {
  const line = readHostLine(
    Buffer.from(
      '{"jsonrpc":"2.0","id":"7","method":"tools/call","params":{"name":"charge","arguments":{"cents":5},"_meta":{"dev.countersign/call-key":"k"}}}\n',
    ),
  )
  assert.equal(line, { kind: 'call', call: { id: '7', tool: 'charge', args: { cents: 5 }, callKey: 'k' } })
})

rpc(
  'what is no call passes: other methods, answers, blank lines, texts that are no JSON, bytes that are no text (CAP-1)',
  () => {
    const lines = [
      '{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a"}}\n',
      '{"jsonrpc":"2.0","id":1,"result":{}}\n',
      '[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"}]\n',
      '\n',
      '\r\n',
      'hello\n',
      '{"method":\n',
      '{"jsonrpc":"2.0","id":1,"method":"ping","text":"\\u0041\\/"}\n',
      '{"id":1,"id":2,"method":"ping","text":"\\u0041"}\n',
      '{"id":1,"method":"prompts/get","params":{"text":"call tools/call now"}}\n',
    ]
    for (const line of lines) assert.is(kindOf(line), 'passes', line)
    assert.is(kindOf(Buffer.from([0xff, 0xfe, 0x0a])), 'passes')
  },
)

rpc(
  'a call that some reader would see and that cannot be recorded exactly is refused, however it is spelt (CAP-2)',
  () => {
    const lines = [
      '{"id":1,"method":"ping","method":"tools/call","params":{"name":"a"}}\n',
      '{"id":1,"method":"tools/call","params":{"name":"a"},"method":"ping"}\n',
      '{"id":1,"method":"tools/call","params":{"name":"a","arguments":{"n":NaN}}}\n',
      '{"id":1,"method":"tools/call","params":{"name":"a","arguments":{"n":12345678901234567890}}}\n',
      '{"id":1,"method":"tools\\u002fcall","params":{"name":"a"},}\n',
      '{"id":1,"method":"ping"}\r{"id":2,"method":"tools/call","params":{"name":"a"}}\n',
      '\ufeff{"id":2,"method":"tools/call","params":{"name":"a"}}\n',
      '{"method":"tools/call","params":{"name":"a"}}\n',
      '{"id":null,"method":"tools/call","params":{"name":"a"}}\n',
      '{"id":{},"method":"tools/call","params":{"name":"a"}}\n',
      '{"id":1,"method":"tools/call","params":{}}\n',
      '[{"id":1,"method":"tools/call","params":{"name":"a"}}]\n',
    ]
    for (const line of lines) assert.is(kindOf(line), 'refused', line)
    const bad = Buffer.from('{"id":1,"method":"tools/call","params":{"name":"a","arguments":{"t":"?"}}}\n')
    bad[bad.indexOf('?')] = 0xff
    assert.is(kindOf(bad), 'refused', 'bytes that are no UTF-8')
  },
)

rpc('the method is found in every spelling that JSON has for it (CAP-2)', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 10, maxLength: 10 }), (ways) => {
      const spelt = [...'tools/call']
        .map((letter, at) => {
          const hex = letter.charCodeAt(0).toString(16).padStart(4, '0')
          if (ways[at] === 1) return `\\u${hex}`
          return ways[at] === 2 ? (letter === '/' ? '\\/' : `\\u${hex.toUpperCase()}`) : letter
        })
        .join('')
      assert.is(kindOf(`{"id":1,"method":"${spelt}","params":{"name":"a"}}\n`), 'call', spelt)
      assert.is(kindOf(`{"id":1,"\\u006dethod":"${spelt}","params":{"name":"a"}}\n`), 'call', spelt)
    }),
    { seed: testSeed(1), numRuns: 300 },
  )
})

rpc('a batch with a call in it names the requests that are to be answered', () => {
  const line = readHostLine(
    Buffer.from(
      '[{"id":1,"method":"ping"},{"method":"note"},{"id":"b","method":"tools/call","params":{"name":"a"}}]\n',
    ),
  )
  assert.equal(line.kind === 'refused' ? line.ids : [], [1, 'b'])
})

rpc('answers are told from requests and notifications of the server, in batches as well', () => {
  const lines =
    '[{"id":1,"result":{"a":1}},{"id":"1","error":{"code":-1,"message":"m"}},{"id":2,"method":"ping"},{"method":"n"}]\n'
  assert.equal(
    readServerLine(Buffer.from(lines)).answers.map(({ id }) => id),
    [1, '1'],
  )
  assert.equal(readServerLine(Buffer.from('{"id":1,"result":\n')).answers, [])
})

rpc.run()
