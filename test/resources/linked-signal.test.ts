import { getEventListeners } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { linkedSignal, onAbort } from '../../src/resources/linked-signal.ts'

const test = suite('linked signals')

test('it is aborted with the first of those it follows, and with its reason', () => {
  for (const which of [0, 1, 2]) {
    const sources = [0, 1, 2].map(() => new AbortController())
    const [own, ...others] = sources.map(({ signal }) => signal)
    if (own === undefined) throw new Error('there are three')
    const signal = linkedSignal(own, undefined, ...others)
    assert.is(signal.aborted, false)
    const reason = new Error('enough')
    sources[which]?.abort(reason)
    assert.is(signal.reason, reason)
    assert.is(linkedSignal(own, ...others).reason, reason, 'one that was aborted before')
  }
})

test('a signal that many follow has one listener, and tells each that has not left', () => {
  const long = new AbortController()
  const told: number[] = []
  const leave = Array.from({ length: 20 }, (_, n) => onAbort(long.signal, () => told.push(n)))
  for (const each of leave.slice(2)) each()
  assert.is(getEventListeners(long.signal, 'abort').length, 1)
  long.abort()
  assert.equal(told, [0, 1])
})

test('what listens to it is held no longer than its own signal, however long another one lives (F101)', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const long = new AbortController()
  const held: WeakRef<AbortSignal>[] = []
  const work = (): void => {
    const signal = linkedSignal(new AbortController().signal, long.signal)
    signal.addEventListener('abort', () => assert.unreachable('nobody aborted'))
    held.push(new WeakRef(signal))
  }
  for (let n = 0; n < 1_000; n += 1) work()
  const left = (): number => held.filter((each) => each.deref() !== undefined).length
  for (let turn = 0; turn < 50 && left() > 10; turn += 1) {
    await new Promise((resolve) => setTimeout(resolve, 5))
    collect()
  }
  assert.ok(left() <= 10, `${left()} of 1,000 are held`)
})

test('no code takes AbortSignal.any, which holds what listens to it for good (F101)', () => {
  const root = fileURLToPath(new URL('../../src/', import.meta.url))
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.js'))
  assert.ok(files.length > 300)
  const takes = files.filter((file) =>
    readFileSync(root + file, 'utf8')
      .replace(/\/\*[\s\S]*?\*\//g, '')
      .includes('AbortSignal.any('),
  )
  assert.equal(takes, [])
})

test.run()
