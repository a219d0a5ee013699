import { suite } from 'uvu'
import { killUnderLoad } from '../support/kill-cycles.ts'

const test = suite('kill -9 of the server')

test('3 kills under load: nothing acknowledged is lost, nothing retried is doubled, verify and replay agree (F1)', async () => {
  await killUnderLoad({ cycles: 3 })
})

test.run()
