import { suite } from 'uvu'
import { buildFaultyDisk } from '../support/disk-fault.ts'
import { servesOverFailingDisk } from '../support/failing-disk.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('a disk that fails while the server serves')
const folder = tempFolder()
test.after(() => folder[Symbol.dispose]())
const env = buildFaultyDisk(folder.path)
if (env === undefined) console.log('skipped: failing syncs, there is no C compiler')
// The disk is armed from this process, through the file that the server's library maps.
process.env.DISK_FAULT_FILE = env?.DISK_FAULT_FILE
const claim = env === undefined ? test.skip : test

claim(
  'a failed sync or write is a 503 for those who wait; the store opens again, nothing is lost or doubled; each is logged once (F5, F45, STR-21)',
  async () => {
    if (env !== undefined) await servesOverFailingDisk(folder, { env })
  },
)

test.run()
