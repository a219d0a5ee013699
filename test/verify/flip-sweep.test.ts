import { readFileSync, writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { verifyTarget } from '../../src/cli/verify-target.ts'
import { testSeed } from '../support/random.ts'
import { rounds } from '../support/rounds.ts'
import { type SmallStore, smallStore } from '../support/small-store.ts'
import { rowsOf, servedRowsOf } from '../support/tamper.ts'

const sweep = suite<{ store: SmallStore }>('verify: bits that flip at rest')

sweep.before(async (context) => {
  context.store = await smallStore()
})
sweep.after(({ store }) => store[Symbol.dispose]())

const FLIPS = rounds(100, 2_000, 10_000)
/** Any odd number: the sweep goes through all of the file, and a failure names its bit. */
const STRIDE = 7_919
/** Where it begins: another seed meets other bits. */
const FIRST = testSeed(0)

/** What the driver gives back, by position and along the index; undefined where it gives up. */
function readBack(path: string): string | undefined {
  try {
    return JSON.stringify([rowsOf(path), servedRowsOf(path)])
  } catch {
    return undefined
  }
}

sweep(
  'no flipped bit of the file makes verify crash, and none in a signed column passes as VERIFIED (F8)',
  async (context) => {
    const { store } = context
    const whole = readFileSync(store.path)
    const bits = whole.length * 8
    const original = readBack(store.path)
    const path = store.folder.file('flipped.db')
    let noticed = 0
    for (let flip = 0; flip < FLIPS; flip += 1) {
      const bit = (FIRST + flip * Math.floor(bits / FLIPS) + flip * STRIDE) % bits
      const bytes = Buffer.from(whole)
      const at = Math.floor(bit / 8)
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (bit % 8))
      for (const suffix of ['-wal', '-shm']) writeFileSync(`${path}${suffix}`, '')
      writeFileSync(path, bytes)

      const { result } = await verifyTarget(
        { kind: 'store', name: path },
        { keys: store.keys, onFault: () => {}, findKey: () => undefined },
      )
      if (result.verdict !== 'VERIFIED') noticed += 1
      else assert.is(readBack(path), original, `bit ${bit} changed what is read, and passed`)
    }
    assert.ok(noticed > FLIPS / 4, `the sweep must hit signed bytes: ${noticed} of ${FLIPS} were noticed`)
  },
)

sweep('a file that was cut, emptied or overwritten is INCOMPLETE or TAMPERED, never VERIFIED', async ({ store }) => {
  const whole = readFileSync(store.path)
  const contents = [
    whole.subarray(0, Math.floor(whole.length / 2)),
    whole.subarray(0, whole.length - 4_096),
    whole.subarray(0, 100),
    Buffer.alloc(whole.length),
    Buffer.from('no store at all'),
    Buffer.alloc(0),
  ]
  for (const [index, content] of contents.entries()) {
    const path = store.folder.file(`cut-${index}.db`)
    writeFileSync(path, content)
    const { result } = await verifyTarget(
      { kind: 'store', name: path },
      { keys: store.keys, onFault: () => {}, findKey: () => undefined },
    )
    assert.ok(['INCOMPLETE', 'TAMPERED'].includes(result.verdict), `${index}: ${result.verdict}`)
  }
})

sweep(
  'a page of zeros hides no event: what stood there is missed, and what stands behind it is still checked',
  async (context) => {
    const { store } = context
    const whole = readFileSync(store.path)
    const original = readBack(store.path)
    const pages = whole.length / 4_096
    for (let page = 1; page < pages; page += 1) {
      const bytes = Buffer.from(whole)
      bytes.fill(0, page * 4_096, (page + 1) * 4_096)
      const path = store.folder.file(`page-${page}.db`)
      writeFileSync(path, bytes)
      const { result } = await verifyTarget(
        { kind: 'store', name: path },
        { keys: store.keys, onFault: () => {}, findKey: () => undefined },
      )
      if (result.verdict === 'VERIFIED') assert.is(readBack(path), original, `page ${page}`)
    }
  },
)

sweep.run()
