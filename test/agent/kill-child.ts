/** @module The process of `kill.test.ts` that dies in the middle of a story: `kill-child.js FOLDER STORY`. */
import { liveOn, type Story } from '../support/deadly-stories.ts'

const [folder = '', story = ''] = process.argv.slice(2)
await liveOn(story as Story, { folder, dies: true })
