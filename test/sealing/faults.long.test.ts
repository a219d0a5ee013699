import { suite } from 'uvu'
import { buildFaultyDisk } from '../support/disk-fault.ts'
import { servesOverFailingDisk } from '../support/failing-disk.ts'
import { killUnderLoad } from '../support/kill-cycles.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('threads that decide and seal, under kills and on a disk that fails')
const THREADS = ['--seal-threads', '2']
const folder = tempFolder()
test.after(() => folder[Symbol.dispose]())
const env = buildFaultyDisk(folder.path)
if (env === undefined) console.log('skipped: failing syncs, there is no C compiler')
// The disk is armed from this process, through the file that the server's library maps.
process.env.DISK_FAULT_FILE = env?.DISK_FAULT_FILE
const claim = env === undefined ? test.skip : test

claim(
  'with threads that seal, a failed sync or write is a 503 for those who wait; the store opens again, nothing is lost or doubled; each is logged once (F5, F274)',
  async () => {
    if (env !== undefined) await servesOverFailingDisk(folder, { env, args: THREADS })
  },
)

test('with threads that seal, 8 kills under load: nothing acknowledged is lost, nothing retried is doubled, verify and replay agree (F1)', async () => {
  await killUnderLoad({ cycles: 8, args: THREADS })
})

test.run()
