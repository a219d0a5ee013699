import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { eventFrames } from '../../src/capture/http/event-frames.ts'
import { seededRandom } from '../support/random.ts'

const frames = suite('capture: event frames')

async function* cut(bytes: Buffer, random: () => number): AsyncGenerator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; ) {
    const end = at + 1 + Math.floor(random() * 5)
    yield bytes.subarray(at, end)
    at = end
  }
}

frames(
  'wherever a stream is cut, its bytes are the same, and so are the messages in it, with every kind of line end (CAP-41)',
  async () => {
    const random = seededRandom(1)
    for (let round = 0; round < 200; round += 1) {
      const eol = ['\n', '\r\n', '\r'][round % 3] ?? '\n'
      const messages = Array.from({ length: 4 }, (_, n) => `{"n":${n},"t":"${'ä'.repeat(n)}"}`)
      const text = messages
        .map((message, n) =>
          [
            ': c',
            `id: ${n}`,
            ...(n % 2 === 0 ? [`data: ${message}`] : [`data:${message.slice(0, 5)}`, `data: ${message.slice(5)}`]),
            '',
            '',
          ].join(eol),
        )
        .join('')
      const bytes = Buffer.from(`${text}data: unfinished`)
      const got = []
      for await (const frame of eventFrames(cut(bytes, random))) got.push(frame)
      assert.equal(Buffer.concat(got.flatMap(({ parts }) => parts)), bytes)
      const said = got.map(({ message }) => message.toString()).filter((message) => message !== '')
      assert.equal(
        said.map((message) => message.replaceAll('\n', '')),
        messages,
      )
      assert.ok(got.slice(0, 4).every(({ hasId }) => hasId))
    }
  },
)

frames.run()
