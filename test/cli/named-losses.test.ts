import { readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { namingFile } from '../../src/cli/named-losses.ts'
import { runInProcess } from '../support/in-process-command.ts'
import { drive } from '../support/run-driver.ts'
import { servedLedger } from '../support/served-ledger.ts'
import { rowsOf, tamper } from '../support/tamper.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('cli: what files at --url say is lost')

const FORMATS = ['jsonl', 'csv', 'cloudevents', 'cloudevents-batch', 'ocsf', 'otlp']
const LOST = /^countersign: INCOMPLETE: lost: .*run-acme\.r @ 1/m

/** Every command that writes a file, each to a new name. */
const COMMANDS = (name: (suffix: string) => string): readonly (readonly string[])[] => [
  ...FORMATS.map((format) => ['export', '--format', format, '--out', name(format)]),
  ['audit', 'runs', '--export', name('runs.jsonl')],
  ['audit', 'runs', '--export', name('runs.csv')],
  ['audit', 'runs'],
]

test('export and audit at a running ledger end with 3 and name what is lost, in every format, as over the store (LOG-49)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  {
    await using served = await servedLedger(data, 'acme')
    for (const id of ['r', 's']) {
      const run = drive(served.opened, id, { tenant: 'acme', actor: 'alice' })
      await run.start({})
      await run.hand('a', { n: 1 })
    }
    await served.opened.ledger.logs?.publish()
    for (const args of COMMANDS((suffix) => folder.file(`whole-${suffix}`))) {
      const { code, stderr } = await runInProcess([...args, ...served.there])
      assert.equal([args.join(' '), code, stderr.includes('INCOMPLETE')], [args.join(' '), 0, false], stderr)
    }
  }
  const lost = rowsOf(`${data}/store.db`).find(({ stream, revision }) => stream === 'run-acme.r' && revision === 1)
  tamper(`${data}/store.db`, (db) => db.prepare('DELETE FROM events WHERE position = ?').run(lost?.position))
  await using served = await servedLedger(data, 'acme')
  for (const args of COMMANDS((suffix) => folder.file(`lost-${suffix}`))) {
    const { code, stderr } = await runInProcess([...args, ...served.there])
    assert.equal([args.join(' '), code, LOST.test(stderr)], [args.join(' '), 3, true], stderr)
  }
})

test('a file is listened to in pieces of any size, and passed on as it is', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  const [tar, lines] = [folder.file('a.tar'), folder.file('a.jsonl')]
  {
    await using served = await servedLedger(data, 'acme')
    await drive(served.opened, 's', { tenant: 'acme', actor: 'alice' }).start({})
    await served.opened.ledger.logs?.publish()
    for (const args of [
      ['--bundle', tar],
      ['--out', lines],
    ])
      assert.is((await runInProcess(['export', '--run', 's', ...args, ...served.there])).code, 0)
  }
  for (const [path, isBundle] of [
    [tar, true],
    [lines, false],
  ] as const) {
    const whole = readFileSync(path)
    const loss = '"losses":[{"scope":"run","code":"missing","stream":"run-acme.s","revision":3}],'
    const bytes = isBundle
      ? inManifest(whole, loss)
      : Buffer.from(whole.toString('utf8').replace('{"trailer":{', `{"trailer":{${loss}`))
    for (const size of [1, 511, 513, bytes.length]) {
      const parts = async function* () {
        for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
      }
      const file = namingFile(parts, isBundle)
      const passed: Uint8Array[] = []
      for await (const chunk of file.chunks) passed.push(chunk)
      assert.ok(Buffer.concat(passed).equals(bytes))
      assert.equal(
        file.losses(),
        [{ scope: 'run', code: 'missing', stream: 'run-acme.s', revision: 3 }],
        `${path} ${size}`,
      )
    }
  }
})

/** The tar with a manifest of the same length that names losses: what is cut off for it is the end of its predicate. */
function inManifest(tar: Buffer, loss: string): Buffer {
  const at = tar.indexOf('manifest.json\0')
  const size = Number.parseInt(tar.toString('latin1', at + 124, at + 135), 8)
  const text = `{"predicate":{${loss.slice(0, -1)}}}`.padEnd(size)
  const copy = Buffer.from(tar)
  copy.write(text, at + 512)
  return copy
}

test.run()
