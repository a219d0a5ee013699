import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { storeFaults } from '../support/power-cut/check-image.ts'
import type { DiskOperation } from '../support/power-cut/recorded-disk.ts'
import { type DiskHistory, faultyImages, recorded, without } from '../support/power-cut/sample-images.ts'
import { bundledProgram } from '../support/program.ts'
import { rounds } from '../support/rounds.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('sqlite store: the power goes')
const IMAGES = rounds(50, 120, 1_200)
const CONTROLS = rounds(20, 40, 150)
const CHILD = bundledProgram('test/system/power-cut-child.js')

const folder = tempFolder()
test.after(() => folder[Symbol.dispose]())
const history = recorded({ folder, name: 'store' }, (root) => [CHILD, 'store', `${root}/data`])
if (history === undefined) console.log('skipped: power cuts, there is no C compiler')
const claim = history === undefined ? test.skip : test

function faulty(
  of: DiskHistory | undefined,
  { images, onRefused = () => undefined }: { readonly images: number; readonly onRefused?: () => void },
): Promise<readonly string[]> {
  assert.ok(of)
  return faultyImages(of, { images, folder }, (place, acknowledged) =>
    storeFaults(`${place}/data/store.db`, acknowledged, onRefused),
  )
}

function isSyncOf(name: string): (operation: DiskOperation) => boolean {
  return ({ kind, path }) => kind === 'sync' && path.endsWith(name)
}

claim(
  `${IMAGES} images of power cuts while the log is written and copied into the file, and begins anew: every acknowledged append is there, whole, and the store goes on (F2, F3)`,
  async () => {
    let refused = 0
    const onRefused = (): void => {
      refused += 1
    }
    assert.equal(await faulty(history, { images: IMAGES, onRefused }), [])
    // A sector that was kept from the disk may differ from what was there before by a single bit, as damage does: asking is the safe side.
    assert.ok(refused <= IMAGES / 50, `${refused} starts refused`)
  },
)

claim('the same images lose appends where an append is acknowledged before its sync (F2)', async () => {
  assert.ok(history)
  // What SQLite does under synchronous = NORMAL: the log is synced before it is copied, not at each commit.
  const after = (from: number): DiskOperation | undefined =>
    history.operations.slice(from + 1).find(({ kind, path }) => kind === 'write' && /\/store\.db(-wal)?$/.test(path))
  const isCommit = new Set(
    history.operations.filter((each, index) => isSyncOf('-wal')(each) && after(index)?.path.endsWith('-wal') !== false),
  )
  const lost = await faulty(
    without(history, (each) => isCommit.has(each)),
    { images: CONTROLS },
  )
  // Others are damaged in other ways.
  const lostAppends = lost.filter((line) => line.includes('acknowledged are lost')).length
  assert.ok(lostAppends > CONTROLS / 10, `${lostAppends} of ${lost.length}`)
})

claim('they are damaged where the file is not synced before the log starts over (F3)', async () => {
  assert.ok(history)
  const damaged = await faulty(without(history, isSyncOf('store.db')), { images: CONTROLS })
  assert.ok(damaged.length > CONTROLS / 10, `${damaged.length}`)
})

claim('and they are empty where the folder is not synced (F2)', async () => {
  assert.ok(history)
  const empty = await faulty(
    without(history, ({ kind }) => kind === 'sync-folder'),
    { images: CONTROLS },
  )
  assert.ok(empty.length > CONTROLS / 10, `${empty.length}`)
})

test.run()
