import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import { Duplex } from 'node:stream'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { WholeAnswer } from '../../src/http/whole-answer.ts'
import { eventually } from '../support/within.ts'

const test = suite('http: answers that leave in one piece')

/** A connection that remembers the pieces it was handed. */
class Connection extends Duplex {
  readonly pieces: string[] = []

  constructor(server: Server) {
    super({ decodeStrings: false })
    server.emit('connection', this)
  }

  override _read(): void {}

  override _write(piece: string | Buffer, _: BufferEncoding, done: () => void): void {
    this.pieces.push(piece.toString())
    done()
  }

  setTimeout(): this {
    return this
  }
}

const served = (listener: RequestListener<typeof IncomingMessage, typeof WholeAnswer>): Connection =>
  new Connection(createServer({ ServerResponse: WholeAnswer }, listener as RequestListener))

const until = (isSo: () => boolean, what: string) => eventually(() => isSo() || undefined, what)
const asks = (method: string, more = ''): string => `${method} / HTTP/1.1\r\nHost: x\r\n${more}\r\n`
const bodiesOf = (text: string): string[] => text.split(/HTTP\/1\.1 200 OK\r\n[\s\S]*?\r\n\r\n/).slice(1)

test('head and body of a small answer are one piece, and nothing comes behind it', async () => {
  const connection = served((_, answer) => {
    answer.writeHead(200, { 'content-length': 5 })
    answer.end('hello')
  })
  connection.push(asks('GET'))
  await until(() => connection.pieces.length > 0, 'the answer')
  connection.push(asks('GET'))
  await until(() => connection.pieces.length > 1, 'the second answer')
  assert.equal(connection.pieces.map(bodiesOf), [['hello'], ['hello']])
})

test('requests that come together are answered in their order, whichever answer is ready first', async () => {
  const waiting: (() => void)[] = []
  let came = 0
  const connection = served((_, answer) => {
    const text = `answer ${came++}`
    const end = (): void => {
      answer.writeHead(200, { 'content-length': text.length })
      answer.end(text)
    }
    if (waiting.push(end) === 3) for (const each of waiting.toReversed()) each()
  })
  connection.push(asks('GET').repeat(3))
  await until(() => bodiesOf(connection.pieces.join('')).length === 3, 'three answers')
  assert.equal(bodiesOf(connection.pieces.join('')), ['answer 0', 'answer 1', 'answer 2'])
})

test('an answer without a length, a large one, one to HEAD and the last of a connection are whole', async () => {
  const large = 'x'.repeat(100_000)
  for (const [text, method, head] of [
    ['hello', 'GET', {}],
    [large, 'GET', { 'content-length': large.length }],
    ['hello', 'HEAD', { 'content-length': 5 }],
  ] as const) {
    const connection = served((_, answer) => {
      answer.writeHead(200, head)
      answer.end(text)
    })
    connection.push(asks(method, 'Connection: close\r\n'))
    await until(() => connection.destroyed || connection.writableEnded, 'the end of the connection')
    const [body = ''] = bodiesOf(connection.pieces.join(''))
    const plain = 'content-length' in head ? body : body.replace(/^5\r\n/, '').replace(/\r\n0\r\n\r\n$/, '')
    assert.is(plain, method === 'HEAD' ? '' : text)
  }
})

test('an answer to who has left, and one that is ended twice, throw nothing and end', async () => {
  let ended = 0
  const connection = served((request, answer) => {
    answer.on('close', () => {
      ended += 1
    })
    if (request.url === '/left') connection.destroy()
    answer.writeHead(200, { 'content-length': 5 })
    answer.end('hello')
    answer.end()
  })
  connection.push(asks('GET'))
  await until(() => ended === 1, 'the first answer')
  connection.push(asks('GET').replace('/', '/left'))
  await until(() => ended === 2, 'the second answer')
  assert.equal(bodiesOf(connection.pieces.join('')), ['hello'])
})

test.run()
