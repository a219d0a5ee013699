import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openSqliteReader } from '../../src/store/sqlite/sqlite-reader.ts'
import { BIN } from '../support/command-line.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { madeTranscripts } from '../support/moved-ledger.ts'
import { ledgerFaults } from '../support/power-cut/check-image.ts'
import type { DiskOperation } from '../support/power-cut/recorded-disk.ts'
import { type DiskHistory, faultyImages, recorded, without } from '../support/power-cut/sample-images.ts'
import { bundledProgram } from '../support/program.ts'
import { collect } from '../support/records.ts'
import { rounds } from '../support/rounds.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('a ledger: the power goes')
const IMAGES = rounds(36, 36, 120)
const CONTROLS = 24
const MOVED = rounds(10, 10, 30)
const REBUILT_EVERY = 4
const RUNS = 12
const CHILD = bundledProgram('test/system/power-cut-child.js')

const folder = tempFolder()
test.after(() => folder[Symbol.dispose]())
const history = recorded({ folder, name: 'ledger', folderSyncMs: 60 }, (root) => [CHILD, 'ledger', `${root}/data`])
if (history === undefined) console.log('skipped: power cuts, there is no C compiler')
const claim = history === undefined ? test.skip : test

function faulty(of: DiskHistory | undefined, images: number): Promise<readonly string[]> {
  assert.ok(of)
  return faultyImages(of, { images, folder }, (place, acknowledged, image) =>
    ledgerFaults(`${place}/data`, acknowledged, { rebuilt: image % REBUILT_EVERY === 0 }),
  )
}

const isKeyFile = (path: string): boolean => path.endsWith('/keys.json')

claim(
  `${IMAGES} images of power cuts from the founding on, over restarts and a rotation of the keys: each starts by itself, verifies, has what was acknowledged, and answers as after a rebuild (F2, F3, F4, F42)`,
  async () => {
    assert.equal(await faulty(history, IMAGES), [])
  },
)

claim(
  'the same images do not start where the folder is not synced after the key file was put in it (F4, F42)',
  async () => {
    assert.ok(history)
    const replaced = history.operations.findIndex(({ kind, other }) => kind === 'rename' && isKeyFile(other))
    assert.ok(replaced > 0)
    const dropped = new Set(history.operations.filter(({ kind }, index) => kind === 'sync-folder' && index > replaced))
    const lost = await faulty(
      without(history, (each) => dropped.has(each)),
      2 * CONTROLS,
    )
    assert.ok(lost.length > 2, `${lost.length}`)
  },
)

claim('nor where files are not synced before they take their place (F2, F4)', async () => {
  assert.ok(history)
  const isOfSmallFile = ({ kind, path }: DiskOperation): boolean =>
    kind === 'sync' && (path.endsWith('.tmp') || isKeyFile(path) || path.endsWith('.checkpoints'))
  const lost = await faulty(without(history, isOfSmallFile), CONTROLS)
  assert.ok(lost.length > 2, `${lost.length}`)
})

claim(
  `${MOVED} images of an import: the ledger starts, and the same import adds what is missing, once (F58)`,
  async () => {
    const { path: transcripts } = madeTranscripts(folder, RUNS)
    const args = [transcripts, '--format', 'openai', '--json']
    const imported = recorded({ folder, name: 'import', folderSyncMs: 20, ends: { status: 0 } }, (root) => [
      BIN,
      'import',
      ...args,
      '--data',
      `${root}/data`,
    ])
    assert.ok(imported)
    const faults = await faultyImages(imported, { images: MOVED, folder }, async (place) => {
      const data = `${place}/data`
      const { code, stdout, stderr } = await runInProcess(['import', ...args, '--data', data])
      if (code !== 0) return [`import ended with ${code}: ${stderr}`]
      const { runs, added, known } = JSON.parse(stdout)
      const streams = (await recordsAt(`${data}/store.db`)).filter(({ revision }) => revision === 0)
      const starts = streams.filter(({ stream }) => stream.startsWith('run-default.')).length
      const isComplete = runs === RUNS && added + known === RUNS && starts === RUNS
      return [
        ...(isComplete ? [] : [`${starts} runs: ${stdout}`]),
        ...(await ledgerFaults(data, [], { rebuilt: false })),
      ]
    })
    assert.equal(faults, [])
  },
)

claim(`${MOVED} images of a copy: asked for again it ends as a whole copy (F58)`, async () => {
  const source = folder.file('source')
  const { path: transcripts } = madeTranscripts(folder, RUNS)
  const made = await runInProcess(['import', transcripts, '--format', 'openai', '--data', source])
  assert.is(made.code, 0, made.stderr)
  const wanted = digest(await recordsAt(`${source}/store.db`))
  const args = (to: string): readonly string[] => ['--from', `${source}/store.db`, '--to', to, '--data', source]
  const copied = recorded({ folder, name: 'copy', folderSyncMs: 20, ends: { status: 0 } }, (root) => [
    BIN,
    'copy',
    ...args(`${root}/copy.db`),
  ])
  assert.ok(copied)
  const faults = await faultyImages(copied, { images: MOVED, folder }, async (place) => {
    const { code, stderr } = await runInProcess(['copy', ...args(`${place}/copy.db`)])
    if (code !== 0) return [`copy ended with ${code}: ${stderr}`]
    return digest(await recordsAt(`${place}/copy.db`)) === wanted ? [] : ['the copy differs']
  })
  assert.equal(faults, [])
})

async function recordsAt(path: string): Promise<Awaited<ReturnType<typeof collect>>> {
  using reader = openSqliteReader({ path })
  return await collect(reader.readAll())
}

function digest(records: Awaited<ReturnType<typeof collect>>): string {
  return JSON.stringify(records.map(({ stream, revision, header, data }) => [stream, revision, header, data]))
}

test.run()
