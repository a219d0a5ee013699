import { suite } from 'uvu'
import { failingDisk, servesOverFailingDisk } from '../support/failing-disk.ts'
import { killUnderLoad } from '../support/kill-cycles.ts'

const test = suite('threads that decide and seal, under kills and on a disk that fails')
const THREADS = ['--seal-threads', '2']
const { folder, env, claim } = failingDisk(test)

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
