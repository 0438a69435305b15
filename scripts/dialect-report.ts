import { lossTables } from '../test/data/count-losses.ts'
import { haveData } from '../test/data/real-tools.ts'

if (haveData()) console.log(lossTables())
