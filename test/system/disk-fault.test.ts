import { suite } from 'uvu'
import { failingDisk, servesOverFailingDisk } from '../support/failing-disk.ts'

const test = suite('a disk that fails while the server serves')
const { folder, env, claim } = failingDisk(test)

claim(
  'a failed sync or write is a 503 for those who wait; the store opens again, nothing is lost or doubled; each is logged once (F5, F45, STR-21)',
  async () => {
    if (env !== undefined) await servesOverFailingDisk(folder, { env })
  },
)

test.run()
