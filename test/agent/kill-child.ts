/** @module A process that does real things and kills itself at a bad moment: `kill-child.js FOLDER SCENARIO`. */
import { lived, type Scenario } from './killed-life.ts'

const [folder = '', scenario = ''] = process.argv.slice(2)
await lived(scenario as Scenario, { folder, dies: true })
