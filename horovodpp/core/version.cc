#include "horovodpp/core/version.h"

namespace hvd {

const char* version() { return HVD_VERSION_STRING; }

}  // namespace hvd
