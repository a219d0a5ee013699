import { suite } from 'uvu'
import { killUnderLoad } from '../support/kill-cycles.ts'
import { rounds } from '../support/rounds.ts'

const test = suite('kill -9 of the server, many times')
/** `COUNTERSIGN_TEST_KILLS` kills it so often instead, for slices of the whole. */
const KILLS = Number(process.env.COUNTERSIGN_TEST_KILLS ?? rounds(20, 20, 200))

test(`${KILLS} kills under load: nothing acknowledged is lost, nothing retried is doubled, verify and replay agree (F1)`, async () => {
  const { restartMs, acknowledged, events } = await killUnderLoad({ cycles: KILLS })
  console.log(
    `${KILLS} kills: ${acknowledged} acknowledged, ${events} events, quickest restart ${Math.round(restartMs)} ms`,
  )
})

test.run()
