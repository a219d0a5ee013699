import { suite } from 'uvu'
import { killUnderLoad } from '../support/kill-cycles.ts'

const test = suite('kill -9 of the server, many times')

test('200 kills under load: nothing acknowledged is lost, nothing retried is doubled, verify and replay agree (F1)', async () => {
  const { restartMs, acknowledged, events } = await killUnderLoad({ cycles: 200 })
  console.log(`200 kills: ${acknowledged} acknowledged, ${events} events, quickest restart ${Math.round(restartMs)} ms`)
})

test.run()
