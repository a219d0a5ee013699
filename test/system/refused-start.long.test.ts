import { chmodSync, chownSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import { foundLedger } from '../support/in-process-command.ts'
import { canBeNobody, NOBODY } from '../support/other-user.ts'
import { assertOneLine, serveToEnd } from '../support/refused-start.ts'
import { startServer } from '../support/server-process.ts'
import { smallDisk } from '../support/small-disk.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('a start that cannot be')
const asNobody = canBeNobody ? test : test.skip
if (!canBeNobody) console.log('skipped: folders of another user, this one cannot act as another')

asNobody('a data folder that this user may not write to refuses the start with one line (F7)', async () => {
  using folder = tempFolder()
  chmodSync(folder.path, 0o755)
  mkdirSync(folder.file('data'), { mode: 0o555 })
  assertOneLine(await serveToEnd(folder.file('data'), { uid: NOBODY }), /permission|cannot|denied|read-only/i)
  assertOneLine(await serveToEnd(folder.file('none/data'), { uid: NOBODY }), /permission|cannot|denied|read-only/i)
})

asNobody('a store file that is read-only refuses the start with one line, and is what it was (F7)', async () => {
  using folder = tempFolder()
  chmodSync(folder.path, 0o755)
  await foundLedger(folder.path)
  const data = folder.file('.countersign')
  for (const file of ['', ...readdirSync(data)]) chownSync(join(data, file), NOBODY, NOBODY)
  chmodSync(join(data, 'store.db'), 0o444)
  assertOneLine(await serveToEnd(data, { uid: NOBODY }), /permission|cannot|denied|read-only/i)
  chmodSync(join(data, 'store.db'), 0o600)
  await using _ = await startServer({ data })
})

test('a file system that is read-only refuses the start with one line (F7)', async () => {
  using disk = smallDisk(8)
  if (disk === undefined) return console.log('skipped: a read-only disk, only root may mount one')
  await foundLedger(disk.path)
  disk.makeReadOnly()
  assertOneLine(await serveToEnd(`${disk.path}/.countersign`), /read-only|cannot/i)
})

test('a store that is no store refuses the start with one line, and is left alone (F7)', async () => {
  using folder = tempFolder()
  await foundLedger(folder.path)
  writeFileSync(folder.file('.countersign/store.db'), 'this is no database, and never was one. '.repeat(200))
  assertOneLine(await serveToEnd(folder.file('.countersign')), /store/)
})

test.run()
