import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { NO_STREAM, StoreOpenError } from '../../src/store/event-store.ts'
import { openRowScan } from '../../src/store/sqlite/row-scan.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { readWalState } from '../../src/store/sqlite/wal-damage.ts'
import { seededRandom, testSeed } from '../support/random.ts'
import { record } from '../support/records.ts'
import { rounds } from '../support/rounds.ts'
import { type TempFolder, tempFolder } from '../support/temp-folder.ts'

const test = suite('sqlite store: damage in its log')
let site: Killed
const HEADER_BYTES = 32
const FRAME_BYTES = 24 + 4_096
const SECTOR_BYTES = 512
const FLIPS = rounds(80, 400)
const TEARS = rounds(40, 200)
/** Small, so that the log starts over after some appends. */
const LOG_FRAMES = 60
const COMMITS = 5

interface Killed {
  readonly folder: TempFolder
  readonly path: string
  readonly log: Buffer
  /** Frames of the log's own generation, from its start. */
  readonly frames: number
  /** Where the last transaction begins and ends, in frames. */
  readonly last: { readonly from: number; readonly to: number }
}

/** Both files of a store in the middle of things are what a kill leaves behind: some transactions of a log that starts over, and older frames behind them. */
async function killed(): Promise<Killed> {
  const folder = tempFolder()
  const path = folder.file('store.db')
  using written = tempFolder()
  await using store = await openSqliteStore({ path: written.file('store.db'), logFrames: LOG_FRAMES })
  let revision = NO_STREAM
  const append = async (): Promise<Generation> => {
    const records = Array.from({ length: 3 }, () => record({ data: JSON.stringify({ text: 'x'.repeat(9_000) }) }))
    await store.append({ stream: 'run-acme.r', expectedRevision: revision, records })
    revision += records.length
    return generationOf(readFileSync(written.file('store.db-wal')))
  }
  let found = await append()
  const first = found.salt
  while (found.salt === first) found = await append()
  while (found.commits.length < COMMITS) found = await append()
  for (const suffix of ['', '-wal']) copyFileSync(written.file(`store.db${suffix}`), path + suffix)
  const [before = 0, end = 0] = found.commits.slice(-2)
  return { folder, path, ...found, last: { from: before + 1, to: end + 1 } }
}

interface Generation {
  readonly log: Buffer
  readonly salt: string
  readonly frames: number
  /** The last frame of each transaction. */
  readonly commits: readonly number[]
}

function generationOf(log: Buffer): Generation {
  const salt = log.toString('hex', 16, 24)
  const frame = (at: number): Buffer => log.subarray(HEADER_BYTES + at * FRAME_BYTES)
  const total = Math.floor((log.length - HEADER_BYTES) / FRAME_BYTES)
  let frames = 0
  while (frames < total && frame(frames).toString('hex', 8, 16) === salt) frames += 1
  const commits = Array.from({ length: frames }, (_, at) => at).filter((at) => frame(at).readUInt32BE(4) > 0)
  return { log, salt, frames, commits }
}

function stateOf(log: Buffer): ReturnType<typeof readWalState> {
  const copy = site.folder.file('tried-wal')
  writeFileSync(copy, log)
  return readWalState(copy)
}

function flipped(log: Buffer, bit: number): Buffer {
  const bytes = Buffer.from(log)
  bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7))
  return bytes
}

test.before(async () => {
  site = await killed()
})
test.after(() => site.folder[Symbol.dispose]())

test('a single bit that turned anywhere in what SQLite reads is damage, in the last append too (F44)', () => {
  const random = seededRandom(testSeed(44))
  assert.is(stateOf(site.log).kind, 'whole')
  const read = HEADER_BYTES + site.frames * FRAME_BYTES
  const bits = Array.from({ length: HEADER_BYTES * 8 }, (_, bit) => bit)
  for (let each = 0; each < FLIPS; each += 1) bits.push(Math.floor(random() * read * 8))
  for (const bit of bits) {
    const state = stateOf(flipped(site.log, bit))
    assert.is(state.kind, 'damaged', `bit ${bit % 8} of byte ${bit >> 3}`)
    assert.ok(state.lostFrames > 0)
  }
})

test('sectors that a power cut kept from the last append are no damage, whichever they are (F44)', () => {
  const random = seededRandom(testSeed(45))
  const { from, to } = site.last
  const first = Math.ceil((HEADER_BYTES + from * FRAME_BYTES) / SECTOR_BYTES)
  const end = Math.floor((HEADER_BYTES + to * FRAME_BYTES) / SECTOR_BYTES)
  const wholeLog = site.log.subarray(0, HEADER_BYTES + to * FRAME_BYTES)
  const seen = new Set<string>()
  for (let each = 0; each < TEARS; each += 1) {
    const log = Buffer.from(wholeLog)
    for (let sector = first; sector < end; sector += 1) {
      if (random() < 0.3) log.fill(0, sector * SECTOR_BYTES, (sector + 1) * SECTOR_BYTES)
    }
    const { kind } = stateOf(log)
    seen.add(kind)
    assert.is.not(kind, 'damaged')
  }
  assert.ok(seen.has('torn'), 'some were cut')
})

test('a sector lost under later appends is damage (F44)', () => {
  const random = seededRandom(testSeed(46))
  for (let each = 0; each < 50; each += 1) {
    const log = Buffer.from(site.log)
    const sector = Math.floor((random() * (HEADER_BYTES + 2 * FRAME_BYTES)) / SECTOR_BYTES)
    log.fill(0, sector * SECTOR_BYTES, (sector + 1) * SECTOR_BYTES)
    if (log.equals(site.log)) continue
    assert.is(stateOf(log).kind, 'damaged', `sector ${sector}`)
  }
})

test('a damaged log stops the start and is named by verify; who accepts the loss goes on, and the log is kept (F44)', async () => {
  const { path, log } = site
  // In the first page of the log: everything behind it would be gone.
  writeFileSync(`${path}-wal`, flipped(log, (HEADER_BYTES + 1_000) * 8))
  {
    using scan = openRowScan({ path })
    const [first] = scan.structure(false)
    assert.is(first?.fault.code, 'wal-damaged')
    assert.match(first?.fault.message ?? '', new RegExp(`damaged at frame 1: the last ${site.frames} frames`))
  }
  for (const _ of [1, 2]) {
    await openSqliteStore({ path }).then(
      () => assert.unreachable('opened'),
      (error: { code?: string }) => assert.is(error.code, 'wal-damaged'),
    )
  }
  const losses: unknown[] = []
  await using store = await openSqliteStore({ path, acceptWalLoss: true, onWalLoss: (loss) => losses.push(loss) })
  assert.is(store.status().state, 'ready')
  const copy = `${path}-wal.damaged-1`
  assert.equal(losses, [{ kind: 'damaged', frame: 1, lostFrames: site.frames, file: `${path}-wal`, copy }])
  assert.ok(existsSync(copy))
})

test('a damaged log is named even where the file cannot be read without it, as after a kill amid a checkpoint (F44)', () => {
  using folder = tempFolder()
  const path = folder.file('store.db')
  const file = readFileSync(site.path)
  // The tables' definitions stand in the first page, and in the log alone until it is written back.
  writeFileSync(path, file.fill(0, 100, 4_096))
  writeFileSync(`${path}-wal`, flipped(site.log, (HEADER_BYTES + 1_000) * 8))
  assert.throws(
    () => openRowScan({ path }),
    (error: unknown) => error instanceof StoreOpenError && error.code === 'wal-damaged',
  )
})

test('a log of an earlier generation behind the present one is no damage (F44)', () => {
  assert.ok(site.log.length > HEADER_BYTES + site.frames * FRAME_BYTES, 'it holds older frames')
  assert.equal([stateOf(site.log).kind, stateOf(site.log).lostFrames], ['whole', 0])
})

test.run()
