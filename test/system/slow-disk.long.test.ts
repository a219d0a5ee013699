import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { armDisk, buildFaultyDisk, seenOperations, slowDisk } from '../support/disk-fault.ts'
import { startServer } from '../support/server-process.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('a slow disk')
const folder = tempFolder()
test.after(() => folder[Symbol.dispose]())
const env = buildFaultyDisk(folder.path)
if (env === undefined) console.log('skipped: slow syncs, there is no C compiler')

const WRITES = 120
const SYNC_MS = 100

const claim = env === undefined ? test.skip : test

claim(
  'while each sync takes 100 ms, all that waits shares syncs, nothing is refused, and the server goes on answering (F28, F29)',
  async () => {
    const data = folder.file('data')
    await using server = await startServer({
      args: ['--store', folder.file('data/ledger.sqlite')],
      data,
      env: env ?? {},
    })
    // The disk is told from this process, through the file that the server's library maps.
    process.env.DISK_FAULT_FILE = env?.DISK_FAULT_FILE
    const client = await server.client()
    await client.post('/v1/runs', { id: 'r', name: 'r' })
    armDisk({ op: 'sync', error: 'EIO', nth: 0 })
    slowDisk(SYNC_MS)
    let answered = 0
    let aliveBefore = 0
    const writes = Array.from({ length: WRITES }, async (_, n) => {
      const { status } = await client.post('/v1/runs', { id: `r${n}`, name: 'r' })
      answered += 1
      return status
    })
    while (answered < WRITES) {
      assert.is((await client.get('/healthz')).status, 200)
      if (answered < WRITES) aliveBefore += 1
    }
    assert.equal(new Set(await Promise.all(writes)), new Set([201]))
    const syncs = seenOperations()
    assert.ok(syncs > 1 && syncs < WRITES / 2, `${syncs} syncs for ${WRITES} writes`)
    assert.ok(aliveBefore > 1, 'a stalled loop would have answered with the writes, not before them')
    slowDisk(0)
  },
)

test.run()
