package conductor

import "time"

// started is where sinceBoot counts from on systems without a clock that runs on in a suspend.
var started = time.Now()
